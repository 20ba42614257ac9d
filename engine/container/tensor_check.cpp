#include "container/tensor_check.h"

#include "base/half.h"
#include "base/little_endian.h"
#include "container/error_reasons.h"
#include "kernels/checksum.h"

#include <cassert>
#include <string>

namespace waste {

void TensorCheck::addPayload(std::span<const std::byte> bytes)
{
    m_crc = kernels::crc32(bytes, m_crc);
}

void TensorCheck::addScales(std::span<const std::byte> halves)
{
    assert(halves.size() % sizeof(std::uint16_t) == 0);
    m_crc = kernels::crc32(halves, m_crc);
    for (std::size_t offset = 0; offset < halves.size(); offset += sizeof(std::uint16_t))
        m_scalesFinite = m_scalesFinite && isFiniteHalf(loadLittle<std::uint16_t>(halves, offset));
}

Status TensorCheck::result() const
{
    const std::string place = std::string(kTrunkFile) + ": tensor " + m_entry.name;
    if (m_entry.crc32 && m_crc != *m_entry.crc32)
        return reason::corrupt(
            reason::kChecksum, place + ": checksum mismatch. Copy the file again, or convert the model again.");
    if (!m_scalesFinite)
        return reason::corrupt(reason::kScale, place + ": a scale is not a finite number.");
    return {};
}

} // namespace waste
