#include "container/file_pass.h"

#include "container/error_reasons.h"
#include "platform/atomic_file.h"
#include "platform/path_text.h"

#include <algorithm>
#include <cassert>
#include <system_error>
#include <utility>

namespace waste {

namespace {

// Empty: not there.
std::optional<std::uint64_t> sizeOf(const std::filesystem::path& file)
{
    std::error_code error;
    const std::uint64_t bytes = std::filesystem::file_size(file, error);
    return error ? std::nullopt : std::optional(bytes);
}

} // namespace

FilePass::FilePass(const ContainerFiles& files, const VerifyOptions& options, std::function<void(const Damage&)> tell)
    : m_files(files)
    , m_options(options)
    , m_tell(std::move(tell))
{
    auto integrity = readIntegrity(files.directory);
    if (integrity)
        m_integrity = std::move(*integrity);
    else if (integrity.error().code != ErrorCode::NotFound)
        m_tell({.file = std::string(kIntegrityFile), .error = integrity.error()});
}

std::optional<FileDigester> FilePass::begin(const BankEntry& bank) const
{
    return isWholeBank(bank.file) ? digesterFor(bank.file) : std::nullopt;
}

void FilePass::end(const BankEntry& bank, FileDigester digester)
{
    take(bank.file, digester.finish());
}

std::optional<FileDigester> FilePass::beginTrunk()
{
    const std::string file(kTrunkFile);
    std::optional<FileDigester> digester = digesterFor(file);
    m_trunkIsTaken = digester.has_value();
    return digester;
}

void FilePass::endTrunk(FileDigester digester)
{
    take(std::string(kTrunkFile), digester.finish());
}

void FilePass::compareSizes()
{
    if (!m_integrity)
        return;
    for (const auto& [file, stated] : *m_integrity) {
        if (mayChange(file) || (m_options.layer && m_files.manifest.bank(*m_options.layer)->file != file))
            continue;
        const auto bytes = sizeOf(m_files.directory / pathFromText(file));
        if (!bytes)
            tellDifference(file, reason::kMissingFile, 0, "is missing");
        else if (*bytes != stated.bytes)
            tellDifference(file, reason::kShortFile, std::min(*bytes, stated.bytes),
                "has " + std::to_string(*bytes) + " instead of " + std::to_string(stated.bytes) + " bytes");
    }
}

std::uint64_t FilePass::contentBytes() const
{
    std::uint64_t bytes = 0;
    for (const std::string& file : contentFiles())
        bytes += sizeOf(m_files.directory / pathFromText(file)).value_or(0);
    return bytes;
}

Status FilePass::compareContents(
    const std::set<std::string>& damaged, const std::function<Status(std::uint64_t bytes)>& read)
{
    for (const std::string& file : contentFiles()) {
        if (damaged.contains(file))
            continue;
        std::optional<FileDigester> digester = digesterFor(file);
        assert(digester);
        auto actual = digestFile(m_files.directory / pathFromText(file), std::move(*digester), read);
        if (!actual && actual.error().code == ErrorCode::Cancelled)
            return actual.error();
        if (!actual)
            m_tell({.file = file, .error = actual.error()});
        else
            take(file, std::move(*actual));
    }
    return {};
}

Status FilePass::write() const
{
    return writeFileAtomically(m_files.directory / kIntegrityFile, composeIntegrity(m_digested));
}

const FileDigest* FilePass::statedFor(const std::string& file) const
{
    if (!m_integrity || mayChange(file))
        return nullptr;
    const auto stated = m_integrity->find(file);
    return stated != m_integrity->end() ? &stated->second : nullptr;
}

// What comparing and writing need, whichever is wanted; empty: neither.
std::optional<FileDigester> FilePass::digesterFor(const std::string& file) const
{
    const FileDigest* stated = statedFor(file);
    if (m_options.writeIntegrity)
        return FileDigester(
            FileDigester::Kind::Everything, stated != nullptr ? stated->chunkBytes : kIntegrityChunkBytes);
    if (stated == nullptr || m_options.headersOnly)
        return std::nullopt;
    return FileDigester::like(*stated);
}

void FilePass::take(const std::string& file, FileDigest actual)
{
    const FileDigest* stated = statedFor(file);
    if (stated != nullptr && stated->bytes == actual.bytes) { // else compareSizes() has told
        for (const std::uint64_t offset : findDifferences(*stated, actual))
            tellDifference(file, reason::kChecksum, offset, "is not what " + std::string(kIntegrityFile) + " states");
    }
    if (m_options.writeIntegrity)
        m_digested[file] = std::move(actual);
}

// What a list would state about the files of a container, and what is stated about others, as far as it is there.
std::vector<std::string> FilePass::contentFiles() const
{
    std::set<std::string> names;
    if (m_options.writeIntegrity) {
        names = {std::string(kManifestFile), std::string(kTrunkFile), std::string(kCodebooksFile)};
        const ContainerFiles::SideFiles& side = m_files.sideFiles;
        for (const auto* path :
            {&side.tokenizer, &side.specials, &side.vision, &side.chat, &side.generationConfig, &side.chatTemplate}) {
            if (!path->empty())
                names.insert(textFromPath(path->filename()));
        }
        for (const BankEntry& bank : m_files.manifest.banks) {
            if (!isWholeBank(bank.file))
                names.insert(bank.file);
        }
    }
    for (const auto& [file, stated] : m_integrity.value_or(Integrity())) {
        if (!isWholeBank(file) && !mayChange(file) && sizeOf(m_files.directory / pathFromText(file)) == stated.bytes)
            names.insert(file);
    }
    if (m_trunkIsTaken)
        names.erase(std::string(kTrunkFile));
    return {names.begin(), names.end()};
}

bool FilePass::isWholeBank(std::string_view file) const
{
    return std::ranges::any_of(m_files.manifest.banks, [&](const BankEntry& bank) {
        return bank.file == file && sizeOf(m_files.directory / pathFromText(file)) == bank.bytes;
    });
}

void FilePass::tellDifference(
    const std::string& file, std::string_view reason, std::uint64_t offset, const std::string& what)
{
    m_tell({.file = file,
        .offset = offset,
        .error = reason::corrupt(reason, file + " " + what + ". Copy this file again, or convert the model again.")});
}

} // namespace waste
