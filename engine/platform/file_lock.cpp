#include "platform/file_lock.h"

#include "platform/file_error.h"
#include "platform/path_text.h"

#include <utility>

namespace waste {

Result<FileLock> FileLock::acquire(const std::filesystem::path& lockFile)
{
    std::error_code error;
    NativeFile file = NativeFile::open(lockFile, NativeFile::Mode::Update, NativeFile::Permissions::OwnerOnly, error);
    if (error)
        return fileError("lock", lockFile, error);
    if (file.tryLock(error))
        return FileLock(std::move(file));
    if (error)
        return fileError("lock", lockFile, error);
    return Error{ErrorCode::Busy, "busy", textFromPath(lockFile) + " is held by another running program"};
}

FileLock::FileLock(NativeFile file)
    : m_file(std::move(file))
{
}

} // namespace waste
