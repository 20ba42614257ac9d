#include "container/container_files.h"

#include "container/codebooks.h"
#include "container/error_reasons.h"
#include "container/integrity.h"
#include "container/json_values.h"
#include "container/part_file.h"
#include "platform/file_error.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <system_error>
#include <utility>

namespace waste {

namespace {

Result<std::string> readManifest(const std::filesystem::path& directory)
{
    const std::filesystem::path path = directory / kManifestFile;
    auto text = readSmallFile(path, Manifest::kBytesMax);
    if (text)
        return text;
    if (text.error().code == ErrorCode::Corrupt) // the size limit
        text.error().reason = reason::kManifest;
    return text;
}

// Payload and scales of every tensor lie inside trunk.bin.
Status checkTrunk(const std::filesystem::path& directory, const Manifest& manifest)
{
    WASTE_TRY(const DirectFile file, openPart(directory, kTrunkFile, DirectFile::Access::Buffered));
    const auto isInside = [&file](std::uint64_t offset, std::uint64_t bytes) {
        return offset <= file.sizeBytes() && bytes <= file.sizeBytes() - offset;
    };
    for (const TrunkEntry& entry : manifest.trunk)
        if (!isInside(entry.offset, entry.layout.payloadBytes) || !isInside(entry.scaleOffset, entry.layout.scaleBytes))
            return reason::corrupt(reason::kTensor,
                std::string(kManifestFile) + ": tensor " + entry.name + " lies outside of " + std::string(kTrunkFile)
                    + " (" + std::to_string(file.sizeBytes())
                    + " bytes). Copy both files again, or convert the model again.");
    return {};
}

Status checkBanks(const std::filesystem::path& directory, const Manifest& manifest)
{
    for (const BankEntry& bank : manifest.banks) {
        WASTE_TRY(const DirectFile file, openPart(directory, bank.file, DirectFile::Access::Buffered));
        if (file.sizeBytes() < bank.bytes)
            return reason::corrupt(reason::kShortFile,
                textFromPath(file.path()) + " is too short for layer " + std::to_string(bank.layer) + ": "
                    + std::to_string(file.sizeBytes()) + " of " + std::to_string(bank.bytes)
                    + " bytes. Copy this file again, or convert the model again.");
    }
    return {};
}

ContainerFiles::SideFiles findSideFiles(const std::filesystem::path& directory)
{
    const auto find = [&directory](std::initializer_list<const char*> names) {
        for (const char* name : names) {
            std::error_code ignored;
            if (std::filesystem::is_regular_file(directory / name, ignored))
                return directory / name;
        }
        return std::filesystem::path();
    };
    ContainerFiles::SideFiles files;
    files.tokenizer = find({"tokenizer.model", "tiktoken.model"});
    files.specials = find({"specials.json"});
    files.vision = find({"vision.json"});
    files.chat = find({"chat.json"});
    files.generationConfig = find({"generation_config.json"});
    files.chatTemplate = find({"chat_template.jinja"});
    files.usage = find({"usage.waste"});
    return files;
}

// Directories inside belong to a running conversion and are not counted.
std::uint64_t totalFileBytes(const std::filesystem::path& directory)
{
    std::uint64_t total = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code ignored;
        const std::uint64_t bytes = entry->is_regular_file(ignored) ? entry->file_size(ignored) : 0;
        total += ignored ? 0 : bytes;
    }
    return total;
}

// A plain converter stored the picture tower in 4 bits, which costs a sixth of its precision.
void warnOfCoarseTower(const Manifest& manifest, std::vector<std::string>& warnings)
{
    const TrunkEntry* patches = manifest.find("vision_tower.patch_embed.proj.weight");
    if (patches != nullptr
        && (patches->format == kernels::WeightFormat::Q4G || patches->format == kernels::WeightFormat::Q3G))
        warnings.emplace_back("the picture tower is stored in 4 bits or less: pictures are seen less clearly.");
}

// A model answers without these files, only less well than it could; what they say is for their readers to judge.
void warnOfBadSideFiles(const ContainerFiles::SideFiles& files, std::vector<std::string>& warnings)
{
    constexpr std::uint64_t kSideFileBytesMax = 1U << 20;
    constexpr std::uint32_t kSideFileDepthMax = 64;
    const auto check = [&](const std::filesystem::path& file, const char* consequence) {
        if (file.empty())
            return;
        const std::string name = textFromPath(file);
        const auto text = readSmallFile(file, kSideFileBytesMax);
        const auto json = text ? parseJson(*text, kSideFileDepthMax, name) : Result<nlohmann::json>(text.error());
        if (!json)
            warnings.push_back(json.error().message + " " + consequence);
        else if (!json->is_object())
            warnings.push_back(name + " is not a JSON object. " + consequence);
    };
    check(files.vision, "The model cannot see pictures.");
    check(files.chat, "The model's own conversation template is not used.");
}

// Sizes alone cost nothing; what the files hold is for verifyContainer(), which tells all differences.
void warnOfChangedFiles(const std::filesystem::path& directory, std::vector<std::string>& warnings)
{
    const auto integrity = readIntegrity(directory);
    if (!integrity && integrity.error().code != ErrorCode::NotFound)
        warnings.push_back(integrity.error().message);
    for (const auto& [name, stated] : integrity ? *integrity : Integrity()) {
        std::error_code error;
        const std::uint64_t bytes = std::filesystem::file_size(directory / pathFromText(name), error);
        if (!mayChange(name) && (error || bytes != stated.bytes))
            warnings.push_back(name + (error ? " is missing" : " has another size") + ", says "
                + std::string(kIntegrityFile) + ". Copy this file again, or convert the model again.");
    }
}

} // namespace

Result<bool> ContainerFiles::isContainer(const std::filesystem::path& directory)
{
    const std::filesystem::path manifest = directory / kManifestFile;
    std::error_code error;
    const auto type = std::filesystem::status(manifest, error).type();
    if (type == std::filesystem::file_type::none || type == std::filesystem::file_type::unknown)
        return fileError("open", manifest, error);
    return type == std::filesystem::file_type::regular;
}

Result<ContainerFiles> ContainerFiles::open(const std::filesystem::path& directory)
{
    ContainerFiles files;
    files.directory = directory;
    WASTE_TRY(const std::string text, readManifest(directory));
    auto manifest = Manifest::parse(text);
    if (!manifest) {
        // Its messages begin with the file's name.
        manifest.error().message = textFromPath(directory / "") + manifest.error().message;
        return std::move(manifest.error());
    }
    files.manifest = std::move(*manifest);
    WASTE_TRY_STATUS(checkTrunk(directory, files.manifest));
    WASTE_TRY_STATUS(checkBanks(directory, files.manifest));
    // Small enough to be read at once (3.4 MB on Kimi K3), and the engine reads them anew when it opens.
    WASTE_TRY_STATUS(Codebooks::load(directory, files.manifest, Verification::Headers, files.warnings));
    warnOfCoarseTower(files.manifest, files.warnings);
    files.sideFiles = findSideFiles(directory);
    warnOfBadSideFiles(files.sideFiles, files.warnings);
    warnOfChangedFiles(directory, files.warnings);
    files.totalBytes = totalFileBytes(directory);
    return files;
}

} // namespace waste
