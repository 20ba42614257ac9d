#include "container/codebooks.h"

#include "base/half.h"
#include "base/little_endian.h"
#include "container/error_reasons.h"
#include "container/format.h"
#include "container/part_file.h"
#include "kernels/checksum.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste {

namespace {

// What stands in front of every message about a codebook.
std::string place(std::uint64_t id)
{
    return std::string(kCodebooksFile) + ": codebook " + std::to_string(id);
}

std::uint64_t tableFloats(const ExpertQuant& quant)
{
    return std::uint64_t{quant.stages} * kCodebookTableRows * quant.vecDim;
}

// Every layer's share lies inside the file. A part of a record at the end is nobody's.
Status checkRanges(const Manifest& manifest, std::uint64_t storedCount)
{
    for (const BankEntry& bank : manifest.banks) {
        const std::uint64_t end = std::uint64_t{bank.codebookBase} + manifest.expertQuant.codebooksPerLayer();
        if (end > storedCount)
            return reason::corrupt(reason::kCodebook,
                std::string(kCodebooksFile) + " holds " + std::to_string(storedCount) + " codebooks, layer "
                    + std::to_string(bank.layer) + " needs " + std::to_string(end)
                    + ". Copy the file again, or convert the model again.");
    }
    return {};
}

Status checkWholeFile(const DirectFile& file, std::uint32_t expected)
{
    constexpr std::uint64_t kBlockBytes = 1 << 20;
    std::vector<std::byte> block(std::min(kBlockBytes, file.sizeBytes()));
    std::uint32_t crc = 0;
    for (std::uint64_t offset = 0; offset < file.sizeBytes(); offset += block.size()) {
        const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), file.sizeBytes() - offset));
        WASTE_TRY_STATUS(readPart(file, offset, part));
        crc = kernels::crc32(part, crc);
    }
    if (crc != expected)
        return reason::corrupt(reason::kChecksum,
            std::string(kCodebooksFile) + ": checksum mismatch. Copy the file again, or convert the model again.");
    return {};
}

// Decodes one record into the first `entries` rows of a table's stage; the others stay zero.
Status decode(std::span<const std::byte> record, const CodebookHeader& header, std::uint64_t id,
    const ExpertQuant& quant, std::span<float> target)
{
    if (header.magic != CodebookHeader::kMagic || header.vecDim != quant.vecDim || header.entries != quant.entries)
        return reason::corrupt(reason::kCodebook,
            place(id)
                + " has a header that does not fit the manifest. Copy the file again, or convert the model again.");
    for (std::size_t i = 0; i < target.size(); ++i) {
        const auto half = loadLittle<std::uint16_t>(record, kCodebookHeaderBytes + i * sizeof(std::uint16_t));
        if (!isFiniteHalf(half))
            return reason::corrupt(reason::kCodebook, place(id) + " holds a value that is not a finite number.");
        target[i] = floatFromHalf(half);
    }
    return {};
}

} // namespace

Result<Codebooks> Codebooks::load(const std::filesystem::path& directory, const Manifest& manifest,
    Verification verification, std::vector<std::string>& warnings)
{
    const ExpertQuant& quant = manifest.expertQuant;
    const std::uint64_t recordBytes = quant.codebookRecordBytes();
    WASTE_TRY(const DirectFile file, openPart(directory, kCodebooksFile, DirectFile::Access::Buffered));
    WASTE_TRY_STATUS(checkRanges(manifest, file.sizeBytes() / recordBytes));
    if (verification == Verification::Full && manifest.codebooksCrc32)
        WASTE_TRY_STATUS(checkWholeFile(file, *manifest.codebooksCrc32));

    Codebooks codebooks;
    codebooks.m_tableFloats = tableFloats(quant);
    WASTE_TRY(codebooks.m_pages, Pages::allocate(residentBytes(manifest), "codebooks"));
    const std::span<float> all(
        reinterpret_cast<float*>(codebooks.m_pages.bytes().data()), residentBytes(manifest) / sizeof(float));
    const std::size_t stageFloats = std::size_t{kCodebookTableRows} * quant.vecDim;
    std::vector<std::byte> record(recordBytes);
    std::size_t stage = 0; // counts over all banks, matrices and stages
    std::size_t renumberedCount = 0;
    for (const BankEntry& bank : manifest.banks)
        for (std::uint32_t k = 0; k < quant.codebooksPerLayer(); ++k, ++stage) {
            const std::uint64_t id = std::uint64_t{bank.codebookBase} + k;
            WASTE_TRY_STATUS(readPart(file, id * recordBytes, record));
            const std::span<float> target = all.subspan(stage * stageFloats, std::size_t{quant.entries} * quant.vecDim);
            const auto header =
                CodebookHeader::decode(std::span<const std::byte>(record).first<kCodebookHeaderBytes>());
            WASTE_TRY_STATUS(decode(record, header, id, quant, target));
            renumberedCount += header.id != (id & 0xFFFFU) ? 1 : 0;
        }
    // Converters that resumed used to renumber; the place in the file is what counts.
    if (renumberedCount > 0)
        warnings.push_back(std::string(kCodebooksFile) + ": " + std::to_string(renumberedCount)
            + " codebooks carry another number than their place.");
    return codebooks;
}

std::uint64_t Codebooks::residentBytes(const Manifest& manifest)
{
    return manifest.banks.size() * kExpertMatrixCount * tableFloats(manifest.expertQuant) * sizeof(float);
}

const float* Codebooks::table(std::size_t bankIndex, std::size_t matrix) const
{
    assert(matrix < kExpertMatrixCount);
    const std::size_t first = (bankIndex * kExpertMatrixCount + matrix) * m_tableFloats;
    assert((first + m_tableFloats) * sizeof(float) <= m_pages.bytes().size());
    return reinterpret_cast<const float*>(m_pages.bytes().data()) + first;
}

} // namespace waste
