#include "container/verifier.h"

#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/file_pass.h"
#include "container/part_file.h"
#include "container/trunk.h"
#include "container/trunk_pass.h"
#include "container/verification.h"
#include "platform/pages.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace waste {

namespace {

// One pass over a container. Reads through the same functions as the engine, so that it cannot approve what
// the engine would refuse.
class Pass {
public:
    Pass(const ContainerFiles& files, const VerifyOptions& options, const std::function<void(const Damage&)>& onDamage,
        const ProgressSink& progress, const CancelFlag& cancel)
        : m_files(files)
        , m_options(options)
        , m_onDamage(onDamage)
        , m_progress(progress)
        , m_cancel(cancel)
        , m_filePass(files, options, [this](const Damage& damage) { tell(damage); })
        , m_trunkOrder(files.manifest)
    {
    }

    Result<VerifyReport> run()
    {
        const Manifest& manifest = m_files.manifest;
        if (m_options.layer && manifest.bank(*m_options.layer) == nullptr)
            return Error{ErrorCode::InvalidArgument, "layer",
                "layer " + std::to_string(*m_options.layer) + " has no experts in this container."};
        const bool isWhole = !m_options.headersOnly && !m_options.layer;
        if (m_options.writeIntegrity && !isWhole)
            return Error{ErrorCode::InvalidArgument, "",
                "integrity.json describes all files: it cannot be written from a part of the container"};
        m_report.integrityChecked = m_filePass.hasIntegrity();
        if (isWhole && m_trunkOrder.isSequential)
            m_trunkDigester = m_filePass.beginTrunk();
        m_totalBytes = plannedBytes(isWhole);
        m_filePass.compareSizes();
        WASTE_TRY(const Codebooks codebooks, verifyCodebooks(isWhole));
        if (isWhole)
            WASTE_TRY_STATUS(verifyTrunk());
        for (std::size_t bank = 0; bank < manifest.banks.size(); ++bank)
            if (!m_options.layer || *m_options.layer == manifest.banks[bank].layer)
                WASTE_TRY_STATUS(verifyBank(bank, codebooks));
        if (isWhole)
            WASTE_TRY_STATUS(verifyFiles());
        if (m_progress)
            m_progress({"files", m_report.bytesRead, m_totalBytes});
        if (m_options.writeIntegrity && m_report.damageCount == 0)
            WASTE_TRY_STATUS(m_filePass.write());
        return m_report;
    }

private:
    static constexpr std::size_t kBlockBytes = 1 << 20;

    std::uint64_t plannedBytes(bool isWhole) const
    {
        std::uint64_t bytes = isWhole ? m_filePass.contentBytes() : 0;
        if (isWhole)
            bytes += m_trunkOrder.isSequential ? std::max(trunkFileBytes(), m_trunkOrder.endBytes) : tensorBytes();
        for (const BankEntry& bank : m_files.manifest.banks)
            if (!m_options.layer || *m_options.layer == bank.layer)
                bytes += bank.bytes;
        return bytes;
    }

    // The codebooks' content has been checked when the container was opened; what remains is the checksum.
    Result<Codebooks> verifyCodebooks(bool withChecksum)
    {
        std::vector<std::string> warnings;
        if (withChecksum) {
            auto checked = Codebooks::load(m_files.directory, m_files.manifest, Verification::Full, warnings);
            if (checked || checked.error().code != ErrorCode::Corrupt)
                return checked;
            tell({.file = std::string(kCodebooksFile), .error = checked.error()});
        }
        return Codebooks::load(m_files.directory, m_files.manifest, Verification::Headers, warnings);
    }

    Status verifyTrunk()
    {
        if (!m_trunkOrder.isSequential)
            return verifyTensors();
        WASTE_TRY(const DirectFile file, openPart(m_files.directory, kTrunkFile, DirectFile::Access::Direct));
        TrunkPass pass(m_trunkOrder, std::move(m_trunkDigester), [this](const Damage& damage) { tell(damage); });
        WASTE_TRY_STATUS(pass.run(file, [this](std::uint64_t bytes) { return advance("trunk", bytes); }));
        if (auto digester = pass.takeDigester())
            m_filePass.endTrunk(std::move(*digester));
        return {};
    }

    // For foreign trunks that one pass cannot check; their file is then digested by verifyFiles().
    Status verifyTensors()
    {
        WASTE_TRY(const Trunk trunk, Trunk::open(m_files.directory));
        std::vector<std::byte> block(kBlockBytes);
        for (const TrunkEntry* entry : m_trunkOrder.entries) {
            WASTE_TRY_STATUS(advance("trunk", entry->layout.bytes()));
            if (Status status = trunk.verify(*entry, block); !status)
                tell({.file = std::string(kTrunkFile),
                    .tensor = entry->name,
                    .offset = entry->offset,
                    .error = std::move(status.error())});
        }
        return {};
    }

    std::uint64_t trunkFileBytes() const
    {
        std::error_code error; // reading it will tell
        const std::uint64_t bytes = std::filesystem::file_size(m_files.directory / kTrunkFile, error);
        return error ? 0 : bytes;
    }

    std::uint64_t tensorBytes() const
    {
        std::uint64_t bytes = 0;
        for (const TrunkEntry* entry : m_trunkOrder.entries)
            bytes += entry->layout.bytes();
        return bytes;
    }

    Status verifyBank(std::size_t bankIndex, const Codebooks& codebooks)
    {
        const BankEntry& bank = m_files.manifest.banks[bankIndex];
        const Verification verification = m_options.headersOnly ? Verification::Headers : Verification::Full;
        // Direct reads, so that a terabyte that nobody will read again does not evict what others use.
        WASTE_TRY(const BankReader reader,
            BankReader::open(m_files.directory, m_files.manifest, bankIndex, codebooks, /*direct=*/true));
        WASTE_TRY(const Pages pages, Pages::allocate(reader.strideBytes(), "verification"));
        std::optional<FileDigester> digester = m_filePass.begin(bank);
        for (std::uint32_t expert = 0; expert < bank.expertCount; ++expert) {
            WASTE_TRY_STATUS(advance("experts", reader.strideBytes()));
            const auto id = static_cast<std::uint16_t>(expert);
            const auto record = pages.bytes().first(reader.strideBytes());
            if (Status status = reader.readRecord(id, record, verification); !status) {
                tell({.file = bank.file,
                    .layer = bank.layer,
                    .expert = expert,
                    .offset = reader.recordOffset(id),
                    .error = std::move(status.error())});
                digester.reset(); // the file differs, which has been told with a better place
            }
            if (digester)
                digester->update(record);
            ++m_report.recordsChecked;
        }
        if (digester)
            m_filePass.end(bank, std::move(*digester));
        return {};
    }

    // What has no checksums of its own, or only of parts: padding, headers' unused bytes, side files.
    Status verifyFiles()
    {
        return m_filePass.compareContents(m_damaged, [this](std::uint64_t bytes) { return advance("files", bytes); });
    }

    // Counts the next piece before it is read.
    Status advance(std::string_view stage, std::uint64_t bytes)
    {
        if (m_cancel.isCancelled())
            return Error{ErrorCode::Cancelled, "", "The verification was cancelled."};
        if (m_progress)
            m_progress({stage, m_report.bytesRead, m_totalBytes});
        m_report.bytesRead += bytes;
        return {};
    }

    void tell(const Damage& damage)
    {
        ++m_report.damageCount;
        m_damaged.insert(damage.file);
        m_onDamage(damage);
    }

    const ContainerFiles& m_files;
    const VerifyOptions& m_options;
    const std::function<void(const Damage&)>& m_onDamage;
    const ProgressSink& m_progress;
    const CancelFlag& m_cancel;
    VerifyReport m_report; // filled by tell() from the beginning on, like m_damaged
    std::set<std::string> m_damaged; // files
    FilePass m_filePass;
    const TrunkOrder m_trunkOrder;
    std::optional<FileDigester> m_trunkDigester; // between planning and verifyTrunk()
    std::uint64_t m_totalBytes = 0;
};

} // namespace

Result<VerifyReport> verifyContainer(const ContainerFiles& files, const VerifyOptions& options,
    const std::function<void(const Damage&)>& onDamage, const ProgressSink& progress, const CancelFlag& cancel)
{
    return Pass(files, options, onDamage, progress, cancel).run();
}

} // namespace waste
