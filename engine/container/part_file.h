#pragma once

#include "platform/direct_file.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace waste {

// Where a conversion keeps its work inside the container until that is whole.
inline constexpr std::string_view kConversionFolder = ".waste-convert";

// Opens one of the files that a container consists of. That it is missing is damage (Corrupt, reason
// missing_file), not a name typed wrong. Other errors: Io.
Result<DirectFile> openPart(const std::filesystem::path& directory, std::string_view name, DirectFile::Access access);

// Fills the first `bytes` of `target` from such a file, as DirectFile::readAtLeast() does. Its error also says what to
// do about a file that was cut.
Status readPart(const DirectFile& file, std::uint64_t offsetBytes, std::span<std::byte> target, std::size_t bytes);
inline Status readPart(const DirectFile& file, std::uint64_t offsetBytes, std::span<std::byte> target)
{
    return readPart(file, offsetBytes, target, target.size());
}

// What to do about a link (of a bank to another drive) to a file that is not there; empty: it is none, or all is well.
std::string brokenLink(const std::filesystem::path& path);

// Whether a name from a container cannot lead out of it.
bool isPlainFileName(std::string_view name);

} // namespace waste
