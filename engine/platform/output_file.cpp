#include "platform/output_file.h"

#include "platform/file_error.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste {

Result<OutputFile> OutputFile::open(const std::filesystem::path& path, Mode mode, Permissions permissions)
{
    assert(mode == Mode::Replace || mode == Mode::CreateNew || mode == Mode::Update);
    std::error_code error;
    NativeFile file = NativeFile::open(path, mode, permissions, error);
    if (error)
        return fileError("write", path, error);
    const std::uint64_t sizeBytes = file.sizeBytes(error);
    if (error)
        return fileError("write", path, error);
    return OutputFile(path, std::move(file), sizeBytes);
}

OutputFile::OutputFile(std::filesystem::path path, NativeFile file, std::uint64_t sizeBytes)
    : m_path(std::move(path))
    , m_file(std::move(file))
    , m_sizeBytes(sizeBytes)
{
}

Status OutputFile::append(std::span<const std::byte> bytes)
{
    return writeAt(m_sizeBytes, bytes);
}

Status OutputFile::append(std::string_view text)
{
    return append(std::as_bytes(std::span(text)));
}

Status OutputFile::writeAt(std::uint64_t offsetBytes, std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        std::error_code error;
        std::size_t count = m_file.writeAt(offsetBytes, bytes, error);
        if (error == std::errc::interrupted)
            continue;
        // A transfer of nothing without a reason would be asked for forever.
        if (!error && count == 0)
            error = std::make_error_code(std::errc::io_error);
        if (error)
            return fileError("write", m_path, error, offsetBytes);
        bytes = bytes.subspan(count);
        offsetBytes += count;
        m_sizeBytes = std::max(m_sizeBytes, offsetBytes);
    }
    return {};
}

Status OutputFile::resize(std::uint64_t sizeBytes)
{
    std::error_code error;
    m_file.resize(sizeBytes, error);
    if (error)
        return fileError("resize", m_path, error);
    m_sizeBytes = sizeBytes;
    return {};
}

Status OutputFile::flush()
{
    std::error_code error;
    m_file.flush(error);
    if (error)
        return fileError("flush", m_path, error);
    return {};
}

Status OutputFile::close()
{
    std::error_code error;
    m_file.close(error);
    if (error)
        return fileError("close", m_path, error);
    return {};
}

Status renameFile(const std::filesystem::path& from, const std::filesystem::path& to)
{
    std::error_code error;
    NativeFile::rename(from, to, error);
    if (error)
        return fileError("replace", to, error);
    return {};
}

Status flushDirectory(const std::filesystem::path& directory)
{
    std::error_code error;
    NativeFile::flushDirectory(directory, error);
    if (error)
        return fileError("flush", directory, error);
    return {};
}

} // namespace waste
