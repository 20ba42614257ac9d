#if !defined(_WIN32)

#include "platform/native_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace waste {
namespace {

static_assert(sizeof(off_t) == 8, "banks are larger than 4 GiB");

// macOS refuses transfers of 2 GiB and more, Linux cuts them.
constexpr std::size_t kTransferBytesMax = std::size_t{1} << 30;

std::error_code lastError()
{
    return {errno, std::system_category()};
}

// Reading opens without blocking: a named pipe in place of a file must not hang us before sizeBytes()
// refuses it. Ordinary files do not care.
int openFlags(NativeFile::Mode mode)
{
    switch (mode) {
    case NativeFile::Mode::Read:
        return O_RDONLY | O_NONBLOCK;
    case NativeFile::Mode::ReadUncached:
#if defined(O_DIRECT)
        return O_RDONLY | O_NONBLOCK | O_DIRECT;
#else
        return O_RDONLY | O_NONBLOCK;
#endif
    case NativeFile::Mode::Replace:
        return O_RDWR | O_CREAT | O_TRUNC;
    case NativeFile::Mode::CreateNew:
        return O_RDWR | O_CREAT | O_EXCL;
    case NativeFile::Mode::Update:
        return O_RDWR | O_CREAT;
    }
    return O_RDONLY;
}

// How the system should treat the pages of a file that is read at random.
void adviseReads([[maybe_unused]] int descriptor, [[maybe_unused]] NativeFile::Mode mode, std::error_code& error)
{
#if defined(__APPLE__)
    if (mode == NativeFile::Mode::ReadUncached) {
        if (fcntl(descriptor, F_NOCACHE, 1) != 0)
            error = lastError();
        fcntl(descriptor, F_RDAHEAD, 0);
    }
#elif defined(POSIX_FADV_RANDOM)
    if (mode == NativeFile::Mode::Read)
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM); // a hint; a refusal changes nothing
#endif
    (void)error;
}

} // namespace

NativeFile NativeFile::open(
    const std::filesystem::path& path, Mode mode, Permissions permissions, std::error_code& error)
{
    error.clear();
    const mode_t bits = permissions == Permissions::OwnerOnly ? 0600 : 0666; // less the umask
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), openFlags(mode) | O_CLOEXEC, bits);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        error = lastError();
        return {};
    }
    NativeFile file(descriptor);
    adviseReads(descriptor, mode, error);
    if (error)
        return {};
    return file;
}

NativeFile::NativeFile(NativeFile&& other) noexcept
    : m_handle(std::exchange(other.m_handle, kClosed))
{
}

NativeFile& NativeFile::operator=(NativeFile&& other) noexcept
{
    std::swap(m_handle, other.m_handle);
    return *this;
}

NativeFile::~NativeFile()
{
    std::error_code ignored;
    close(ignored);
}

std::size_t NativeFile::readAt(std::uint64_t offsetBytes, std::span<std::byte> target, std::error_code& error) const
{
    error.clear();
    const std::size_t bytes = std::min(target.size(), kTransferBytesMax);
    const ssize_t moved = ::pread(static_cast<int>(m_handle), target.data(), bytes, static_cast<off_t>(offsetBytes));
    if (moved < 0)
        error = lastError();
    return moved < 0 ? 0 : static_cast<std::size_t>(moved);
}

std::size_t NativeFile::writeAt(std::uint64_t offsetBytes, std::span<const std::byte> source, std::error_code& error)
{
    error.clear();
    const std::size_t bytes = std::min(source.size(), kTransferBytesMax);
    const ssize_t moved = ::pwrite(static_cast<int>(m_handle), source.data(), bytes, static_cast<off_t>(offsetBytes));
    if (moved < 0)
        error = lastError();
    return moved < 0 ? 0 : static_cast<std::size_t>(moved);
}

void NativeFile::forget([[maybe_unused]] std::uint64_t offsetBytes, [[maybe_unused]] std::uint64_t bytes) const
{
#if defined(POSIX_FADV_DONTNEED)
    posix_fadvise(
        static_cast<int>(m_handle), static_cast<off_t>(offsetBytes), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
#endif
}

std::uint64_t NativeFile::sizeBytes(std::error_code& error) const
{
    error.clear();
    struct stat facts = {};
    if (::fstat(static_cast<int>(m_handle), &facts) != 0) {
        error = lastError();
        return 0;
    }
    if (!S_ISREG(facts.st_mode)) {
        error = std::make_error_code(S_ISDIR(facts.st_mode) ? std::errc::is_a_directory : std::errc::not_supported);
        return 0;
    }
    return static_cast<std::uint64_t>(facts.st_size);
}

std::uint64_t NativeFile::volume() const
{
    struct stat facts = {};
    return ::fstat(static_cast<int>(m_handle), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_dev) : 0;
}

void NativeFile::resize(std::uint64_t sizeBytes, std::error_code& error)
{
    error.clear();
    int result = -1;
    do {
        result = ::ftruncate(static_cast<int>(m_handle), static_cast<off_t>(sizeBytes));
    } while (result != 0 && errno == EINTR);
    if (result != 0)
        error = lastError();
}

void NativeFile::flush(std::error_code& error)
{
    error.clear();
#if defined(__APPLE__)
    // fsync leaves the bytes in the drive's own cache; a file system without the full flush gets fsync.
    if (fcntl(static_cast<int>(m_handle), F_FULLFSYNC) == 0)
        return;
    const int result = ::fsync(static_cast<int>(m_handle));
#else
    const int result = ::fdatasync(static_cast<int>(m_handle)); // the size counts as data here
#endif
    if (result != 0)
        error = lastError();
}

bool NativeFile::tryLock(std::error_code& error)
{
    error.clear();
    // Belongs to this open file and not to the process, so a second holder in the same program is kept
    // out as well.
    if (::flock(static_cast<int>(m_handle), LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        error = lastError();
    return false;
}

void NativeFile::close(std::error_code& error)
{
    error.clear();
    if (m_handle == kClosed)
        return;
    // Not repeated after EINTR: the descriptor is gone by then and may already be somebody else's.
    if (::close(static_cast<int>(std::exchange(m_handle, kClosed))) != 0 && errno != EINTR)
        error = lastError();
}

void NativeFile::rename(const std::filesystem::path& from, const std::filesystem::path& to, std::error_code& error)
{
    std::filesystem::rename(from, to, error);
}

void NativeFile::flushDirectory(const std::filesystem::path& directory, std::error_code& error)
{
    error.clear();
    const int descriptor = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        error = lastError();
        return;
    }
    // Some file systems (network, FUSE) cannot flush a directory; there is nothing more to do there.
    if (::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP)
        error = lastError();
    ::close(descriptor);
}

} // namespace waste

#endif
