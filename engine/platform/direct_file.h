#pragma once

#include "platform/native_file.h"
#include "waste/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace waste {

// What an uncached read needs on every system we know: offset, length and buffer address are multiples
// of this. It is the block of the device (512 or 4096) and never the alignment of our own buffers, which
// may be larger (spec: streaming 2).
inline constexpr std::size_t kDirectIoAlignment = 4096;

// Error::reason of a file that ends too early.
inline constexpr std::string_view kShortFileReason = "short_file";

// A file that is read at positions, past the page cache where the system allows it.
//
// Any number of threads may read at the same time. On a direct file offset, length and address of every
// read are multiples of kDirectIoAlignment; a buffered file takes any. Only the last block of a file may
// come back short.
class DirectFile {
public:
    enum class Access : std::uint8_t {
        Direct, // falls back to Buffered where the file system refuses; isDirect() tells
        Buffered,
    };

    // Errors: NotFound, Io; they name the file.
    static Result<DirectFile> open(const std::filesystem::path& path, Access access);
    DirectFile() = default; // no file; only to be assigned to
    DirectFile(DirectFile&& other) noexcept;
    DirectFile& operator=(DirectFile&& other) noexcept;

    // Fills `target`. A file that ends earlier is damaged, whenever it was cut (Corrupt, kShortFileReason);
    // what to do about it knows whoever knows whose it is. Interrupted and short transfers are continued; a device
    // error (EIO) is tried once more. Errors name file and offset.
    Status readExactly(std::uint64_t offsetBytes, std::span<std::byte> target) const
    {
        return readAtLeast(offsetBytes, target, target.size());
    }

    // The same where only the first `bytes` of `target` matter: of the last block of a file the rest is not there.
    Status readAtLeast(std::uint64_t offsetBytes, std::span<std::byte> target, std::size_t bytes) const;

    // The same, but the end of the file is no error: returns how many bytes of `target` are valid.
    Result<std::size_t> readUpTo(std::uint64_t offsetBytes, std::span<std::byte> target) const;

    // What the page cache holds of these bytes of a buffered file may go: nobody will read them again. A system that
    // cannot be told so keeps it.
    void forget(std::uint64_t offsetBytes, std::uint64_t bytes) const;

    // For AsyncReads, which makes one transfer with it.
    [[nodiscard]] std::intptr_t handleForRead() const
    {
        m_readCount.fetch_add(1, std::memory_order_relaxed);
        return m_file.handle();
    }

    [[nodiscard]] std::uint64_t sizeBytes() const { return m_sizeBytes; } // when it was opened
    [[nodiscard]] bool isDirect() const { return m_isDirect; }
    // Files with the same number are on one file system; 0 where that is not known.
    [[nodiscard]] std::uint64_t volume() const { return m_file.volume(); }
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
    // Transfers asked of the system so far, the probe of open() not counted.
    [[nodiscard]] std::uint64_t readCount() const { return m_readCount.load(std::memory_order_relaxed); }

private:
    DirectFile(std::filesystem::path path, NativeFile file, std::uint64_t sizeBytes, bool isDirect);

    std::filesystem::path m_path;
    NativeFile m_file;
    std::uint64_t m_sizeBytes = 0;
    bool m_isDirect = false;
    mutable std::atomic<std::uint64_t> m_readCount = 0; // counts only, orders nothing
};

} // namespace waste
