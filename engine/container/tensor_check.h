#pragma once

#include "container/manifest.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// What can be said of a trunk tensor's bytes once all of them have passed by, in any number of pieces.
class TensorCheck {
public:
    explicit TensorCheck(const TrunkEntry& entry)
        : m_entry(entry)
    {
    }

    void addPayload(std::span<const std::byte> bytes);
    void addScales(std::span<const std::byte> halves); // after the payload, an even number of bytes
    // Errors: Corrupt naming the tensor.
    [[nodiscard]] Status result() const;
    [[nodiscard]] std::uint32_t crc32() const { return m_crc; } // of payload and scales, also if none is stated

private:
    const TrunkEntry& m_entry;
    std::uint32_t m_crc = 0;
    bool m_scalesFinite = true;
};

} // namespace waste
