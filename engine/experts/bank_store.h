#pragma once

#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/manifest.h"
#include "container/verification.h"
#include "experts/record_store.h"
#include "waste/result.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace waste {

// The expert banks of a container, all opened at once: one file handle per mixture-of-experts layer.
class BankStore final : public RecordStore {
public:
    struct Options {
        bool direct = true; // past the page cache where the file system allows it
        Verification verification = Verification::Headers; // Full adds the checksum of each record
    };

    // For a container with experts. `manifest` and `codebooks` outlive the store. Errors: those of
    // BankReader::open().
    static Result<std::unique_ptr<BankStore>> open(const std::filesystem::path& directory, const Manifest& manifest,
        const Codebooks& codebooks, const Options& options);

    [[nodiscard]] const Grid& grid() const override { return m_grid; }
    [[nodiscard]] bool isDirect() const override;
    [[nodiscard]] std::uint32_t driveCount() const override { return m_driveCount; }
    [[nodiscard]] std::uint32_t driveOf(ExpertKey key) const override;
    Status read(ExpertKey key, std::span<std::byte> target) const override;
    [[nodiscard]] Place place(ExpertKey key) const override;
    [[nodiscard]] Status check(ExpertKey key, std::span<const std::byte> record) const override;
    [[nodiscard]] ExpertView view(ExpertKey key, std::span<const std::byte> record) const override;

    // Transfers asked of the system so far, over all banks.
    [[nodiscard]] std::uint64_t readCount() const;

private:
    BankStore(std::vector<BankReader> banks, const Grid& grid, Verification verification);
    [[nodiscard]] std::size_t indexOf(ExpertKey key) const;
    [[nodiscard]] const BankReader& bank(ExpertKey key) const { return m_banks[indexOf(key)]; }
    void findDrives();

    std::vector<BankReader> m_banks; // by layer, from m_grid.firstLayer on
    std::vector<std::uint8_t> m_drives; // of the banks
    std::uint32_t m_driveCount = 1;
    Grid m_grid;
    Verification m_verification;
};

} // namespace waste
