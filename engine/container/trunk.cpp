#include "container/trunk.h"

#include "base/checked.h"
#include "base/half.h"
#include "base/little_endian.h"
#include "container/error_reasons.h"
#include "container/part_file.h"
#include "container/tensor_check.h"
#include "container/tensor_inventory.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace waste {

namespace {

std::uint64_t aligned(std::uint64_t bytes)
{
    return roundUp<std::uint64_t>(bytes, Trunk::kAlignment);
}

} // namespace

Result<Trunk> Trunk::open(const std::filesystem::path& directory)
{
    // Tensors of a foreign trunk start at any byte, which a direct read could not reach.
    WASTE_TRY(DirectFile file, openPart(directory, kTrunkFile, DirectFile::Access::Buffered));
    return Trunk(std::move(file));
}

Trunk::Trunk(DirectFile file)
    : m_file(std::move(file))
{
}

std::uint64_t Trunk::residentBytes(const TrunkEntry& entry)
{
    return aligned(entry.layout.payloadBytes) + aligned(entry.layout.scaleBytes);
}

std::span<std::byte> Trunk::payloadOf(const TrunkEntry& entry, std::span<std::byte> resident)
{
    return resident.first(entry.layout.payloadBytes);
}

std::span<std::byte> Trunk::scalesOf(const TrunkEntry& entry, std::span<std::byte> resident)
{
    return resident.subspan(aligned(entry.layout.payloadBytes), entry.layout.scaleBytes);
}

kernels::MatrixView Trunk::view(const TrunkEntry& entry, std::span<const std::byte> resident)
{
    return viewRows(entry, entry.layout.rows, resident);
}

Status Trunk::verify(const TrunkEntry& entry, std::span<std::byte> block) const
{
    assert(entry.format);
    assert(!block.empty() && block.size() % sizeof(std::uint16_t) == 0);
    TensorCheck check(entry);
    const auto pass = [&](std::uint64_t offset, std::uint64_t bytes, auto add) -> Status {
        for (std::uint64_t done = 0; done < bytes; done += block.size()) {
            const auto part = block.first(std::min<std::uint64_t>(block.size(), bytes - done));
            WASTE_TRY_STATUS(readPart(m_file, offset + done, part));
            (check.*add)(part);
        }
        return {};
    };
    WASTE_TRY_STATUS(pass(entry.offset, entry.layout.payloadBytes, &TensorCheck::addPayload));
    WASTE_TRY_STATUS(pass(entry.scaleOffset, entry.layout.scaleBytes, &TensorCheck::addScales));
    return check.result();
}

std::uint64_t Trunk::residentRowBytes(const TrunkEntry& entry)
{
    return aligned(entry.layout.rowBytes) + aligned(entry.layout.scaleRowBytes());
}

Result<kernels::MatrixView> Trunk::loadRow(
    const TrunkEntry& entry, std::uint32_t row, std::span<std::byte> target) const
{
    assert(entry.format);
    assert(row < entry.layout.rows);
    assert(target.size() == residentRowBytes(entry));
    const TrunkLayout& layout = entry.layout;
    const auto payload = target.first(layout.rowBytes);
    const auto scales = target.subspan(aligned(layout.rowBytes), layout.scaleRowBytes());
    WASTE_TRY_STATUS(readPart(m_file, entry.offset + row * layout.rowBytes, payload));
    WASTE_TRY_STATUS(readPart(m_file, entry.scaleOffset + row * layout.scaleRowBytes(), scales));
    for (std::size_t offset = 0; offset < scales.size(); offset += sizeof(std::uint16_t)) {
        if (!isFiniteHalf(loadLittle<std::uint16_t>(scales, offset)))
            return reason::corrupt(reason::kScale,
                std::string(kTrunkFile) + ": tensor " + entry.name + ": a scale of row " + std::to_string(row)
                    + " is not a finite number. Copy the file again, or convert the model again.");
    }
    return viewRows(entry, 1, target);
}

// The matrix of `rows` rows: payload, then scales, each from an aligned place on.
kernels::MatrixView Trunk::viewRows(const TrunkEntry& entry, std::uint32_t rows, std::span<const std::byte> resident)
{
    assert(reinterpret_cast<std::uintptr_t>(resident.data()) % kAlignment == 0);
    kernels::MatrixView matrix;
    matrix.format = *entry.format;
    matrix.rows = rows;
    matrix.columns = entry.layout.columns;
    matrix.rowBytes = entry.layout.rowBytes;
    matrix.payload = resident.data();
    if (*entry.format != kernels::WeightFormat::F32) {
        matrix.group = entry.group;
        matrix.scales = reinterpret_cast<const std::uint16_t*>(resident.data() + aligned(rows * entry.layout.rowBytes));
    }
    return matrix;
}

bool isEmbeddingOnDisk(const Manifest& manifest)
{
    const TrunkEntry* entry = manifest.find(embeddingName(manifest.config));
    return entry != nullptr && entry->format != kernels::WeightFormat::F32;
}

std::uint64_t residentTrunkBytes(const Manifest& manifest)
{
    std::uint64_t bytes = 0;
    for (const TensorSpec& spec : requiredTensors(manifest.config))
        if (const TrunkEntry* entry = manifest.find(spec.name))
            bytes += Trunk::residentBytes(*entry);
    if (isEmbeddingOnDisk(manifest))
        bytes -= Trunk::residentBytes(*manifest.find(embeddingName(manifest.config)));
    return bytes;
}

} // namespace waste
