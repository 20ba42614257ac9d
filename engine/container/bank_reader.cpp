#include "container/bank_reader.h"

#include "base/half.h"
#include "base/little_endian.h"
#include "container/error_reasons.h"
#include "container/index_packing.h"
#include "container/part_file.h"
#include "container/record_header.h"
#include "kernels/checksum.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace waste {

namespace {

// Whether every index of a matrix names an entry. Rows that only fill the last block up are zero bytes and
// pass as well. Six-bit indices cannot be wrong.
bool areIndicesInside(std::span<const std::byte> indices, const ExpertQuant& quant)
{
    if (quant.indexBits == 6 || quant.entries == kCodebookTableRows)
        return true;
    return std::all_of(indices.begin(), indices.end(),
        [&quant](std::byte index) { return std::to_integer<std::uint32_t>(index) < quant.entries; });
}

bool areFinite(std::span<const std::byte> halves)
{
    for (std::size_t offset = 0; offset < halves.size(); offset += sizeof(std::uint16_t))
        if (!isFiniteHalf(loadLittle<std::uint16_t>(halves, offset)))
            return false;
    return true;
}

} // namespace

Result<BankReader> BankReader::open(const std::filesystem::path& directory, const Manifest& manifest,
    std::size_t bankIndex, const Codebooks& codebooks, bool direct)
{
    assert(bankIndex < manifest.banks.size());
    BankReader reader;
    reader.m_geometry = &manifest.geometry;
    reader.m_quant = &manifest.expertQuant;
    reader.m_entry = &manifest.banks[bankIndex];
    for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
        reader.m_codebooks[k] = codebooks.table(bankIndex, k);
    const auto access = direct ? DirectFile::Access::Direct : DirectFile::Access::Buffered;
    WASTE_TRY(reader.m_file, openPart(directory, reader.m_entry->file, access));
    return reader;
}

Status BankReader::readRecord(std::uint16_t expert, std::span<std::byte> target, Verification verification) const
{
    assert(expert < m_entry->expertCount);
    assert(target.size() == strideBytes());
    if (Status status = readPart(m_file, recordOffset(expert), target); !status) {
        status.error().message = recordName(expert) + status.error().message;
        return status;
    }
    return check(expert, target, verification);
}

Status BankReader::check(std::uint16_t expert, std::span<const std::byte> record, Verification verification) const
{
    assert(record.size() == strideBytes());
    const auto damaged = [&](std::string_view reason, const std::string& what) {
        return reason::corrupt(reason,
            recordName(expert) + what + " (" + m_entry->file + "). Copy this file again, or convert the model again.");
    };
    // A bank that was cut or spliced still reads as plausible weights: only the header tells.
    const auto expected = RecordHeader::expected(*m_geometry, *m_quant, static_cast<std::uint16_t>(m_entry->layer),
        expert, static_cast<std::uint16_t>(m_entry->codebookBase));
    const auto header = record.first<kRecordHeaderBytes>();
    if (const std::string_view field = recordHeaderMismatch(header, expected); !field.empty())
        return damaged(reason::kRecordHeader, "header does not fit, " + std::string(field));
    if (verification == Verification::Headers)
        return {};

    const auto payload = record.first(m_geometry->payloadEnd).subspan(kRecordHeaderBytes);
    if (kernels::crc32(payload) != RecordHeader::decode(header).payloadCrc32)
        return damaged(reason::kChecksum, "checksum mismatch");
    const auto indices = record.first(m_geometry->scalesOffset).subspan(kRecordHeaderBytes);
    if (!areIndicesInside(indices, *m_quant))
        return damaged(reason::kIndex, "an index is outside the codebook");
    if (!areFinite(record.first(m_geometry->payloadEnd).subspan(m_geometry->scalesOffset)))
        return damaged(reason::kScale, "a scale is not a finite number");
    return {};
}

std::string BankReader::recordName(std::uint16_t expert) const
{
    return "expert " + std::to_string(expert) + " of layer " + std::to_string(m_entry->layer) + ": ";
}

std::array<kernels::VqMatrixView, kExpertMatrixCount> BankReader::view(std::span<const std::byte> record) const
{
    assert(record.size() == strideBytes());
    std::array<kernels::VqMatrixView, kExpertMatrixCount> views;
    for (std::size_t k = 0; k < kExpertMatrixCount; ++k) {
        const ExpertGeometry::Matrix& matrix = m_geometry->matrices[k];
        kernels::VqMatrixView& view = views[k];
        view.rows = matrix.rows;
        view.columns = matrix.columns;
        view.vecDim = m_quant->vecDim;
        view.stages = m_quant->stages;
        view.indexBits = m_quant->indexBits;
        view.indexBlock = m_quant->indexBlock;
        view.indices = reinterpret_cast<const std::uint8_t*>(record.data() + matrix.indexOffset);
        view.scales = reinterpret_cast<const std::uint16_t*>(record.data() + matrix.scaleOffset);
        view.codebooks = m_codebooks[k];
    }
    return views;
}

} // namespace waste
