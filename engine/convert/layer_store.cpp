#include "convert/layer_store.h"

#include "base/crc32.h"
#include "checkpoint/json_file.h"
#include "convert/bank_check.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <string>
#include <system_error>
#include <utility>

namespace waste {
namespace {

constexpr std::uint64_t kErrorsBytesMax = 4096;

std::string codebooksName(const BankEntry& entry)
{
    return "codebooks-L" + std::to_string(entry.layer) + ".bin";
}

std::string errorsName(const BankEntry& entry)
{
    return "errors-L" + std::to_string(entry.layer) + ".json";
}

std::optional<double> number(const nlohmann::json& object, const char* key)
{
    const auto value = object.find(key);
    return value != object.end() && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<ExpertErrors> parseErrors(const std::string& text)
{
    const auto root = parseJsonObject(text, "errors");
    if (!root)
        return std::nullopt;
    const auto gate = number(*root, "gate");
    const auto up = number(*root, "up");
    const auto down = number(*root, "down");
    if (!gate || !up || !down)
        return std::nullopt;
    return ExpertErrors{*gate, *up, *down};
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

Result<std::optional<FinishedLayer>> LayerStore::find(const BankEntry& entry) const
{
    WASTE_TRY(std::optional<FinishedLayer> layer, fromFolder(entry));
    if (!layer)
        layer = fromPublished(entry);
    if (!layer)
        return layer;
    const Status sound = checkBank(m_folder.target() / entry.file, m_plan, entry, BankChecksums::Ends);
    if (sound)
        return layer;
    if (sound.error().code == ErrorCode::Corrupt || sound.error().code == ErrorCode::NotFound)
        return std::optional<FinishedLayer>();
    return sound.error();
}

Result<std::optional<FinishedLayer>> LayerStore::fromFolder(const BankEntry& entry) const
{
    const std::uint64_t bytes = m_plan.quant.codebooksPerLayer() * m_plan.quant.codebookRecordBytes();
    auto codebooks = readSmallFile(m_folder.path(codebooksName(entry)), bytes);
    auto errorsText = readSmallFile(m_folder.path(errorsName(entry)), kErrorsBytesMax);
    for (const auto* text : {&codebooks, &errorsText}) {
        if (!*text && text->error().code == ErrorCode::Io)
            return text->error();
    }
    if (!codebooks || codebooks->size() != bytes || !errorsText)
        return std::optional<FinishedLayer>();
    const auto errors = parseErrors(*errorsText);
    if (!errors)
        return std::optional<FinishedLayer>();
    return std::optional(FinishedLayer{*errors, bytesOf(*codebooks)});
}

std::optional<FinishedLayer> LayerStore::fromPublished(const BankEntry& entry) const
{
    if (!m_published || m_publishedCodebooks.empty())
        return std::nullopt;
    const BankEntry* bank = m_published->bank(entry.layer);
    const auto errors = m_published->desktop.errors.find(entry.layer);
    if (bank == nullptr || bank->codebookBase != entry.codebookBase || errors == m_published->desktop.errors.end())
        return std::nullopt;
    const std::uint64_t recordBytes = m_plan.quant.codebookRecordBytes();
    const std::string_view codebooks =
        std::string_view(m_publishedCodebooks)
            .substr(entry.codebookBase * recordBytes, m_plan.quant.codebooksPerLayer() * recordBytes);
    const auto& [gate, up, down] = errors->second;
    return FinishedLayer{{gate, up, down}, bytesOf(codebooks)};
}

Status LayerStore::keep(const BankEntry& entry, const FinishedLayer& layer) const
{
    const nlohmann::json errors = {{"gate", layer.errors.gate}, {"up", layer.errors.up}, {"down", layer.errors.down}};
    WASTE_TRY_STATUS(m_folder.write(codebooksName(entry), layer.codebooks));
    WASTE_TRY_STATUS(m_folder.write(errorsName(entry), errors.dump()));
    return m_folder.publish(entry.file, entry.file);
}

} // namespace waste
