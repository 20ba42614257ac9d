#if defined(_WIN32)

#include "platform/native_file.h"
#include "platform/windows_api.h"
#include "platform/windows_path.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace waste {
namespace {

constexpr std::size_t kTransferBytesMax = std::size_t{1} << 30; // sizes of one call are 32 bits

std::error_code lastError()
{
    return {static_cast<int>(GetLastError()), std::system_category()};
}

HANDLE handleOf(std::intptr_t value)
{
    return reinterpret_cast<HANDLE>(value);
}

// The position of a call; it keeps clear of the handle's own file pointer, so that threads may share it.
OVERLAPPED positionOf(std::uint64_t offsetBytes)
{
    OVERLAPPED position = {};
    position.Offset = static_cast<DWORD>(offsetBytes);
    position.OffsetHigh = static_cast<DWORD>(offsetBytes >> 32);
    return position;
}

// The only way to replace a file that somebody has open. False where the system or the file system does not know it.
bool renamePosix(const std::wstring& from, const std::wstring& to)
{
    constexpr auto kFileRenameInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22); // MinGW's header hides the name
    const HANDLE handle =
        CreateFileW(from.c_str(), DELETE | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
            OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
    if (handle == INVALID_HANDLE_VALUE)
        return false;
    const std::size_t nameBytes = to.size() * sizeof(wchar_t);
    std::vector<std::byte> buffer(sizeof(FILE_RENAME_INFO) + nameBytes); // the structure has a character's room
    auto* const order = reinterpret_cast<FILE_RENAME_INFO*>(buffer.data());
    order->Flags = FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS;
    order->FileNameLength = static_cast<DWORD>(nameBytes);
    std::copy(to.begin(), to.end(), order->FileName);
    const bool renamed =
        SetFileInformationByHandle(handle, kFileRenameInfoEx, order, static_cast<DWORD>(buffer.size())) != FALSE;
    CloseHandle(handle);
    return renamed;
}

} // namespace

NativeFile NativeFile::open(const std::filesystem::path& path, Mode mode, Permissions, std::error_code& error)
{
    // A profile's files are the owner's alone already, so the permissions have nothing to add.
    error.clear();
    const bool reads = mode == Mode::Read || mode == Mode::ReadUncached;
    const DWORD access = reads ? GENERIC_READ : GENERIC_READ | GENERIC_WRITE;
    DWORD creation = OPEN_EXISTING;
    if (mode == Mode::Replace)
        creation = CREATE_ALWAYS;
    if (mode == Mode::CreateNew)
        creation = CREATE_NEW;
    if (mode == Mode::Update)
        creation = OPEN_ALWAYS;
    DWORD flags = FILE_ATTRIBUTE_NORMAL;
    // On a synchronous handle the system lets one read wait for the other, whatever thread they come from.
    if (reads)
        flags |= FILE_FLAG_RANDOM_ACCESS | FILE_FLAG_OVERLAPPED;
    if (mode == Mode::ReadUncached)
        flags |= FILE_FLAG_NO_BUFFERING;
    const HANDLE handle = CreateFileW(systemPath(path).c_str(), access,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, creation, flags, nullptr);
    if (handle == INVALID_HANDLE_VALUE) {
        error = lastError();
        return {};
    }
    return NativeFile(reinterpret_cast<std::intptr_t>(handle));
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
    OVERLAPPED position = positionOf(offsetBytes);
    position.hEvent = CreateEventW(nullptr, TRUE, FALSE, nullptr);
    if (position.hEvent == nullptr) {
        error = lastError();
        return 0;
    }
    DWORD moved = 0;
    const auto bytes = static_cast<DWORD>(std::min(target.size(), kTransferBytesMax));
    bool succeeded = ReadFile(handleOf(m_handle), target.data(), bytes, nullptr, &position) != FALSE;
    if (succeeded || GetLastError() == ERROR_IO_PENDING)
        succeeded = GetOverlappedResult(handleOf(m_handle), &position, &moved, TRUE) != FALSE;
    if (!succeeded && GetLastError() != ERROR_HANDLE_EOF)
        error = lastError();
    CloseHandle(position.hEvent);
    return moved;
}

std::size_t NativeFile::writeAt(std::uint64_t offsetBytes, std::span<const std::byte> source, std::error_code& error)
{
    error.clear();
    OVERLAPPED position = positionOf(offsetBytes);
    DWORD moved = 0;
    const auto bytes = static_cast<DWORD>(std::min(source.size(), kTransferBytesMax));
    if (!WriteFile(handleOf(m_handle), source.data(), bytes, &moved, &position))
        error = lastError();
    return moved;
}

void NativeFile::forget(std::uint64_t, std::uint64_t) const
{
    // Windows takes no such hint for a part of a file.
}

std::uint64_t NativeFile::sizeBytes(std::error_code& error) const
{
    error.clear();
    LARGE_INTEGER size = {};
    if (!GetFileSizeEx(handleOf(m_handle), &size))
        error = lastError();
    return static_cast<std::uint64_t>(size.QuadPart);
}

std::uint64_t NativeFile::volume() const
{
    BY_HANDLE_FILE_INFORMATION facts = {};
    return GetFileInformationByHandle(handleOf(m_handle), &facts) ? facts.dwVolumeSerialNumber : 0;
}

void NativeFile::resize(std::uint64_t sizeBytes, std::error_code& error)
{
    error.clear();
    FILE_END_OF_FILE_INFO end = {};
    end.EndOfFile.QuadPart = static_cast<LONGLONG>(sizeBytes);
    if (!SetFileInformationByHandle(handleOf(m_handle), FileEndOfFileInfo, &end, sizeof(end)))
        error = lastError();
}

void NativeFile::flush(std::error_code& error)
{
    error.clear();
    if (!FlushFileBuffers(handleOf(m_handle)))
        error = lastError();
}

bool NativeFile::tryLock(std::error_code& error)
{
    error.clear();
    OVERLAPPED whole = {};
    if (LockFileEx(
            handleOf(m_handle), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, MAXDWORD, MAXDWORD, &whole))
        return true;
    if (GetLastError() != ERROR_LOCK_VIOLATION)
        error = lastError();
    return false;
}

void NativeFile::close(std::error_code& error)
{
    error.clear();
    if (m_handle == kClosed)
        return;
    if (!CloseHandle(handleOf(std::exchange(m_handle, kClosed))))
        error = lastError();
}

void NativeFile::rename(const std::filesystem::path& from, const std::filesystem::path& to, std::error_code& error)
{
    error.clear();
    if (!renamePosix(systemPath(from), systemPath(to))
        && !MoveFileExW(systemPath(from).c_str(), systemPath(to).c_str(), MOVEFILE_REPLACE_EXISTING))
        error = lastError();
}

void NativeFile::flushDirectory(const std::filesystem::path&, std::error_code& error)
{
    error.clear(); // NTFS journals its directories; there is no call for it
}

} // namespace waste

#endif
