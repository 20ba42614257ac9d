#include "convert/layer_store.h"

#include "base/crc32.h"
#include "checkpoint/json_file.h"
#include "platform/file_facts.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <string>
#include <utility>

namespace waste {
namespace {

constexpr std::uint64_t kFactsBytesMax = 4096;

std::string codebooksName(const BankEntry& entry)
{
    return "codebooks-L" + std::to_string(entry.layer) + ".bin";
}

// The errors of the layer, and the checksum of its codebooks followed by these errors as text: the bank's records
// have checksums of their own, and nothing else of a layer is kept.
std::string factsName(const BankEntry& entry)
{
    return "layer-L" + std::to_string(entry.layer) + ".json";
}

nlohmann::json errorsJson(const ExpertErrors& errors)
{
    return {{"gate", errors.gate}, {"up", errors.up}, {"down", errors.down}};
}

std::uint32_t checksum(const FinishedLayer& layer)
{
    const std::string errors = errorsJson(layer.errors).dump();
    return crc32(std::as_bytes(std::span(errors)), crc32(layer.codebooks));
}

std::optional<double> number(const nlohmann::json& object, const char* key)
{
    const auto value = object.find(key);
    return value != object.end() && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

// Whether `text` states the errors of this layer and the right checksum; fills layer.errors.
bool readFacts(const std::string& text, FinishedLayer& layer)
{
    const auto root = parseJsonObject(text, "facts");
    if (!root || !root->contains("errors") || !(*root)["errors"].is_object())
        return false;
    const nlohmann::json& errors = (*root)["errors"];
    const auto gate = number(errors, "gate");
    const auto up = number(errors, "up");
    const auto down = number(errors, "down");
    const auto crc32 = root->find("crc32");
    if (!gate || !up || !down || crc32 == root->end() || !crc32->is_number_unsigned())
        return false;
    layer.errors = {*gate, *up, *down};
    return crc32->get<std::uint64_t>() == checksum(layer);
}

std::vector<std::byte> bytesOf(std::string_view text)
{
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// The codebooks of a published container, if they are those that its manifest states.
std::string readPublishedCodebooks(const std::filesystem::path& target, const Manifest& manifest, std::uint64_t bytes)
{
    auto text = readSmallFile(target / kCodebooksFile, bytes);
    if (!text || text->size() != bytes || !manifest.codebooksCrc32
        || crc32(std::as_bytes(std::span(*text))) != *manifest.codebooksCrc32)
        return {};
    return std::move(*text);
}

} // namespace

LayerStore::LayerStore(const WorkFolder& folder, const ConversionPlan& plan, const std::optional<Manifest>& published)
    : m_folder(folder)
    , m_plan(plan)
    , m_published(published)
{
    if (published)
        m_publishedCodebooks = readPublishedCodebooks(folder.target(), *published, plan.codebooksBytes());
}

Result<LayerStore::Remains> LayerStore::find(const BankEntry& entry) const
{
    WASTE_TRY(Remains remains, fromFolder(entry));
    if (!remains.layer && m_published)
        return fromPublished(entry);
    return remains;
}

Result<LayerStore::Remains> LayerStore::fromFolder(const BankEntry& entry) const
{
    const std::filesystem::path codebooksPath = m_folder.path(codebooksName(entry));
    const std::uint64_t bytes = m_plan.quant.codebooksPerLayer() * m_plan.quant.codebookRecordBytes();
    const auto codebooks = readSmallFile(codebooksPath, bytes);
    const auto facts = readSmallFile(m_folder.path(factsName(entry)), kFactsBytesMax);
    for (const auto* text : {&codebooks, &facts}) {
        if (!*text && text->error().code == ErrorCode::Io)
            return text->error();
    }
    // Written after the codebooks: without it, the layer was in work when the conversion ended.
    if (!facts && facts.error().code == ErrorCode::NotFound)
        return Remains();
    FinishedLayer layer;
    if (codebooks)
        layer.codebooks = bytesOf(*codebooks);
    if (!facts || layer.codebooks.size() != bytes || !readFacts(*facts, layer))
        return Remains{
            .layer = std::nullopt, .damage = textFromPath(codebooksPath) + ": missing, or not what its checksum says"};
    return Remains{.layer = std::move(layer), .damage = {}};
}

LayerStore::Remains LayerStore::fromPublished(const BankEntry& entry) const
{
    const std::string file = textFromPath(m_folder.target() / kCodebooksFile);
    if (m_publishedCodebooks.empty())
        return {.layer = std::nullopt, .damage = file + ": missing, or not what the manifest says"};
    const BankEntry* bank = m_published->bank(entry.layer);
    const auto errors = m_published->desktop.errors.find(entry.layer);
    if (bank == nullptr || bank->codebookBase != entry.codebookBase || errors == m_published->desktop.errors.end())
        return {};
    const std::uint64_t recordBytes = m_plan.quant.codebookRecordBytes();
    const std::string_view codebooks =
        std::string_view(m_publishedCodebooks)
            .substr(entry.codebookBase * recordBytes, m_plan.quant.codebooksPerLayer() * recordBytes);
    const auto& [gate, up, down] = errors->second;
    return {.layer = FinishedLayer{{gate, up, down}, bytesOf(codebooks)}, .damage = {}};
}

Status LayerStore::keep(const BankEntry& entry, const FinishedLayer& layer) const
{
    const nlohmann::json facts = {{"errors", errorsJson(layer.errors)}, {"crc32", checksum(layer)}};
    WASTE_TRY_STATUS(m_folder.write(codebooksName(entry), layer.codebooks));
    WASTE_TRY_STATUS(m_folder.write(factsName(entry), facts.dump()));
    // A damaged bank that lies elsewhere would be left without a name.
    const std::filesystem::path before = linkTarget(finishedPath(entry));
    if (!before.empty() && before != linkTarget(bankPath(entry)))
        WASTE_TRY_STATUS(removeBank(finishedPath(entry)));
    return m_folder.publish(entry.file, entry.file);
}

} // namespace waste
