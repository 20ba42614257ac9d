#pragma once

#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace waste {

// How a picture file stores its pixels, as far as it decides what decoding them takes. From headers alone.
class ImageLayout {
public:
    // Before the decoder sees the file. Errors (of the reason only, the caller names the file): what would lead the
    // decoder astray, or keep it busy without end.
    static Result<ImageLayout> read(std::span<const std::byte> file);

    [[nodiscard]] const std::string& kind() const { return m_kind; } // for messages: "interlaced PNG of 16 bits"
    // At most, for a picture of this size: the decoder's buffers, its result and the upright copy. Sizes below 2^26.
    [[nodiscard]] std::uint64_t decodeBytes(std::uint32_t width, std::uint32_t height) const;

private:
    std::string m_kind;
    std::function<std::uint64_t(std::uint64_t width, std::uint64_t height)> m_bytes;
};

} // namespace waste
