#include "platform/small_file.h"

#include "platform/direct_file.h"
#include "platform/path_text.h"

#include <span>

namespace waste {

Result<std::string> readSmallFile(const std::filesystem::path& path, std::uint64_t bytesMax)
{
    WASTE_TRY(const DirectFile file, DirectFile::open(path, DirectFile::Access::Buffered));
    if (file.sizeBytes() > bytesMax) {
        return Error{ErrorCode::Corrupt, "too_large",
            textFromPath(path) + " has " + std::to_string(file.sizeBytes()) + " bytes; at most "
                + std::to_string(bytesMax) + " are read"};
    }
    std::string content(static_cast<std::size_t>(file.sizeBytes()), '\0');
    WASTE_TRY_STATUS(file.readExactly(0, std::as_writable_bytes(std::span(content))));
    return content;
}

} // namespace waste
