#include "experts/bank_store.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste {

Result<std::unique_ptr<BankStore>> BankStore::open(const std::filesystem::path& directory, const Manifest& manifest,
    const Codebooks& codebooks, const Options& options)
{
    assert(!manifest.banks.empty());
    std::vector<BankReader> banks;
    banks.reserve(manifest.banks.size());
    for (std::size_t index = 0; index < manifest.banks.size(); ++index) {
        assert(manifest.banks[index].layer == manifest.banks[0].layer + index);
        WASTE_TRY(BankReader bank, BankReader::open(directory, manifest, index, codebooks, options.direct));
        banks.push_back(std::move(bank));
    }
    const Grid grid{
        .firstLayer = static_cast<std::uint16_t>(manifest.banks[0].layer),
        .layerCount = static_cast<std::uint16_t>(manifest.banks.size()),
        .expertCount = manifest.banks[0].expertCount,
        .recordBytes = manifest.geometry.strideBytes,
    };
    return std::unique_ptr<BankStore>(new BankStore(std::move(banks), grid, options.verification));
}

BankStore::BankStore(std::vector<BankReader> banks, const Grid& grid, Verification verification)
    : m_banks(std::move(banks))
    , m_grid(grid)
    , m_verification(verification)
{
    findDrives();
}

// Banks of one model may lie on several drives, by symbolic links.
void BankStore::findDrives()
{
    std::vector<std::uint64_t> volumes;
    for (const BankReader& bank : m_banks) {
        const auto known = std::ranges::find(volumes, bank.file().volume());
        m_drives.push_back(static_cast<std::uint8_t>((known - volumes.begin()) % kDrivesMax));
        if (known == volumes.end())
            volumes.push_back(bank.file().volume());
    }
    m_driveCount = std::min(static_cast<std::uint32_t>(volumes.size()), kDrivesMax);
}

bool BankStore::isDirect() const
{
    return std::all_of(m_banks.begin(), m_banks.end(), [](const BankReader& bank) { return bank.isDirect(); });
}

Status BankStore::read(ExpertKey key, std::span<std::byte> target) const
{
    return bank(key).readRecord(key.expert, target, m_verification);
}

RecordStore::Place BankStore::place(ExpertKey key) const
{
    const BankReader& reader = bank(key);
    return {&reader.file(), reader.recordOffset(key.expert)};
}

Status BankStore::check(ExpertKey key, std::span<const std::byte> record) const
{
    return bank(key).check(key.expert, record, m_verification);
}

ExpertView BankStore::view(ExpertKey key, std::span<const std::byte> record) const
{
    return bank(key).view(record);
}

std::uint64_t BankStore::readCount() const
{
    std::uint64_t count = 0;
    for (const BankReader& bank : m_banks)
        count += bank.file().readCount();
    return count;
}

std::uint32_t BankStore::driveOf(ExpertKey key) const
{
    return m_drives[indexOf(key)];
}

std::size_t BankStore::indexOf(ExpertKey key) const
{
    assert(key.layer >= m_grid.firstLayer && key.layer - m_grid.firstLayer < m_grid.layerCount);
    return std::size_t{key.layer} - m_grid.firstLayer;
}

} // namespace waste
