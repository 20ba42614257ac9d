#pragma once

#include "platform/native_file.h"
#include "waste/result.h"

#include <filesystem>

namespace waste {

// Says "this is mine" to other programs (and to other parts of this one) for as long as it lives; ends with
// the process too, however that dies. The lock file itself stays: removing it would race with the next holder.
class FileLock {
public:
    // Creates the file if necessary. Errors: Busy (reason busy) if somebody else holds it, NotFound, Io.
    static Result<FileLock> acquire(const std::filesystem::path& lockFile);

private:
    explicit FileLock(NativeFile file);

    NativeFile m_file;
};

} // namespace waste
