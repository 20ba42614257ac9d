#include "platform/direct_file.h"

#include "platform/file_error.h"
#include "platform/path_text.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace waste {
namespace {

[[maybe_unused]] bool isAligned(std::uint64_t offsetBytes, std::span<const std::byte> target)
{
    return offsetBytes % kDirectIoAlignment == 0 && target.size() % kDirectIoAlignment == 0
        && reinterpret_cast<std::uintptr_t>(target.data()) % kDirectIoAlignment == 0;
}

// Some file systems (tmpfs of older kernels, FUSE) accept the flag and refuse the transfer, so only a read
// tells. An empty file reads as nothing and passes.
NativeFile openUncached(const std::filesystem::path& path)
{
    std::error_code error;
    NativeFile file = NativeFile::open(path, NativeFile::Mode::ReadUncached, NativeFile::Permissions::Default, error);
    if (error)
        return {};
    alignas(kDirectIoAlignment) std::byte block[kDirectIoAlignment];
    do {
        file.readAt(0, block, error);
    } while (error == std::errc::interrupted);
    // A drive that fails refuses nothing: whoever reads tries again, and says so.
    return error && error != std::errc::io_error ? NativeFile() : std::move(file);
}

} // namespace

Result<DirectFile> DirectFile::open(const std::filesystem::path& path, Access access)
{
    NativeFile file;
    if (access == Access::Direct)
        file = openUncached(path);
    const bool isDirect = file.isOpen();
    std::error_code error;
    if (!isDirect)
        file = NativeFile::open(path, NativeFile::Mode::Read, NativeFile::Permissions::Default, error);
    if (error)
        return fileError("open", path, error);
    const std::uint64_t sizeBytes = file.sizeBytes(error);
    if (error)
        return fileError("open", path, error);
    return DirectFile(path, std::move(file), sizeBytes, isDirect);
}

DirectFile::DirectFile(std::filesystem::path path, NativeFile file, std::uint64_t sizeBytes, bool isDirect)
    : m_path(std::move(path))
    , m_file(std::move(file))
    , m_sizeBytes(sizeBytes)
    , m_isDirect(isDirect)
{
}

DirectFile::DirectFile(DirectFile&& other) noexcept
    : m_path(std::move(other.m_path))
    , m_file(std::move(other.m_file))
    , m_sizeBytes(other.m_sizeBytes)
    , m_isDirect(other.m_isDirect)
    , m_readCount(other.readCount())
{
}

DirectFile& DirectFile::operator=(DirectFile&& other) noexcept
{
    m_path = std::move(other.m_path);
    m_file = std::move(other.m_file);
    m_sizeBytes = other.m_sizeBytes;
    m_isDirect = other.m_isDirect;
    m_readCount.store(other.readCount(), std::memory_order_relaxed);
    return *this;
}

Status DirectFile::readAtLeast(std::uint64_t offsetBytes, std::span<std::byte> target, std::size_t bytes) const
{
    assert(bytes <= target.size());
    WASTE_TRY(const std::size_t count, readUpTo(offsetBytes, target));
    if (count >= bytes)
        return {};
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(m_path, error);
    const std::uint64_t end = error ? offsetBytes + count : std::min<std::uint64_t>(size, offsetBytes + count);
    return Error{ErrorCode::Corrupt, std::string(kShortFileReason),
        textFromPath(m_path) + " ends at " + std::to_string(end) + ", but " + std::to_string(bytes)
            + " bytes are needed at offset " + std::to_string(offsetBytes)};
}

void DirectFile::forget(std::uint64_t offsetBytes, std::uint64_t bytes) const
{
    if (!m_isDirect)
        m_file.forget(offsetBytes, bytes);
}

Result<std::size_t> DirectFile::readUpTo(std::uint64_t offsetBytes, std::span<std::byte> target) const
{
    assert(!m_isDirect || isAligned(offsetBytes, target));
    std::size_t done = 0;
    bool retried = false;
    while (done < target.size()) {
        m_readCount.fetch_add(1, std::memory_order_relaxed);
        std::error_code error;
        const std::size_t count = m_file.readAt(offsetBytes + done, target.subspan(done), error);
        if (error == std::errc::interrupted)
            continue;
        // Drives report an occasional failed transfer that succeeds when asked again; a second failure in
        // the same request is damage.
        if (error == std::errc::io_error && !std::exchange(retried, true))
            continue;
        if (error)
            return fileError("read", m_path, error, offsetBytes + done);
        if (count == 0)
            break;
        const std::size_t resumeAt = done + count;
        if (!m_isDirect || resumeAt % kDirectIoAlignment == 0) {
            done = resumeAt;
            continue;
        }
        // An uncached transfer ends inside a block at the end of the file, or because it was torn. Only
        // whole blocks can be asked for again; no whole block of progress means the end.
        if (offsetBytes + resumeAt >= m_sizeBytes || count < kDirectIoAlignment) {
            done = resumeAt;
            break;
        }
        done = resumeAt / kDirectIoAlignment * kDirectIoAlignment;
    }
    return done;
}

} // namespace waste
