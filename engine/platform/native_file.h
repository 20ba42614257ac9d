#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>

namespace waste {

// An open file of the operating system: one call here is one call there. Only the classes of this folder
// use it; everybody else reads through DirectFile and writes through OutputFile.
//
// Positional, so that threads may share it. Errors are reported through `error`, which is cleared first.
class NativeFile {
public:
    enum class Mode : std::uint8_t {
        Read, // expects random access, so the system does not read ahead
        ReadUncached, // past the page cache; may be refused at the first read only
        Replace, // created, or cut to nothing
        CreateNew, // fails if it exists
        Update, // keeps what is there; created if absent
    };
    enum class Permissions : std::uint8_t { Default, OwnerOnly }; // of a file that is created

    NativeFile() = default;
    static NativeFile open(
        const std::filesystem::path& path, Mode mode, Permissions permissions, std::error_code& error);
    NativeFile(NativeFile&& other) noexcept;
    NativeFile& operator=(NativeFile&& other) noexcept;
    ~NativeFile();

    // At most 1 GiB is moved by one call. 0 bytes read: the end of the file.
    std::size_t readAt(std::uint64_t offsetBytes, std::span<std::byte> target, std::error_code& error) const;
    std::size_t writeAt(std::uint64_t offsetBytes, std::span<const std::byte> source, std::error_code& error);
    // The system need not keep these bytes in memory. A hint: nobody hears of a refusal.
    void forget(std::uint64_t offsetBytes, std::uint64_t bytes) const;
    std::uint64_t sizeBytes(std::error_code& error) const; // an error for what is no ordinary file
    [[nodiscard]] std::uint64_t volume() const; // of the file system; 0: not known
    void resize(std::uint64_t sizeBytes, std::error_code& error);
    // Content and size are on the device when this returns.
    void flush(std::error_code& error);
    // An exclusive lock that ends with this object or the process; false if another holder has it.
    bool tryLock(std::error_code& error);
    void close(std::error_code& error);

    [[nodiscard]] bool isOpen() const { return m_handle != kClosed; }
    [[nodiscard]] std::intptr_t handle() const { return m_handle; }

    // Gives a file another name; what has that name goes, even while somebody reads it.
    static void rename(const std::filesystem::path& from, const std::filesystem::path& to, std::error_code& error);
    // Makes the entries of a directory (a file created or renamed in it) durable.
    static void flushDirectory(const std::filesystem::path& directory, std::error_code& error);

private:
    static constexpr std::intptr_t kClosed = -1; // also Windows' INVALID_HANDLE_VALUE
    explicit NativeFile(std::intptr_t handle)
        : m_handle(handle)
    {
    }

    std::intptr_t m_handle = kClosed; // descriptor, or HANDLE on Windows
};

} // namespace waste
