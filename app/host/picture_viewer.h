#pragma once

#include "waste/container.h"
#include "waste/picture.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace waste::host {

// Decodes the pictures that people are shown, and those that they attach, one at a time and each within a bound that
// the memory plan counts with the program. Any thread; a call waits for the one before it, so never the GUI's.
class PictureViewer {
public:
    explicit PictureViewer(std::size_t bytesMax)
        : m_bytesMax(bytesMax)
    {
    }

    [[nodiscard]] std::size_t bytesMax() const { return m_bytesMax; }

    // As host::checkPicture().
    Result<Picture> check(const Container& container, std::string_view file, std::string_view name);
    // As drawPicture(). A picture that is too large for the bound is not drawn: OutOfMemory.
    Result<PicturePixels> draw(std::string_view file, std::string_view name, std::uint32_t sideMax);

private:
    const std::size_t m_bytesMax;
    std::mutex m_oneAtATime; // held while a picture is decoded: the bound is that of one picture
};

} // namespace waste::host
