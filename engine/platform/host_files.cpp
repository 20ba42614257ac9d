#include "waste/files.h"

#include "platform/atomic_file.h"
#include "platform/file_error.h"
#include "platform/file_lock.h"
#include "platform/output_file.h"
#include "platform/path_text.h"
#include "platform/processes.h"
#include "platform/sha.h"
#include "platform/small_file.h"

namespace waste {

struct JournalFile::Handle {
    OutputFile file;
};

JournalFile::JournalFile(std::unique_ptr<Handle> handle)
    : m_handle(std::move(handle))
{
}

JournalFile::~JournalFile() = default;
JournalFile::JournalFile(JournalFile&&) noexcept = default;
JournalFile& JournalFile::operator=(JournalFile&&) noexcept = default;

Result<JournalFile> JournalFile::open(const std::filesystem::path& path)
{
    WASTE_TRY(OutputFile file, OutputFile::open(path, OutputFile::Mode::Update, OutputFile::Permissions::OwnerOnly));
    return JournalFile(std::make_unique<Handle>(Handle{std::move(file)}));
}

Status JournalFile::append(std::string_view lines)
{
    OutputFile& file = m_handle->file;
    const std::uint64_t sizeBefore = file.sizeBytes();
    Status written = file.append(lines);
    if (written)
        written = file.flush();
    if (!written) {
        // The first error is the one to report; a file that cannot even be cut is cut at its next opening.
        [[maybe_unused]] const Status cut = file.resize(sizeBefore);
    }
    return written;
}

Status JournalFile::resize(std::uint64_t sizeBytes)
{
    WASTE_TRY_STATUS(m_handle->file.resize(sizeBytes));
    return m_handle->file.flush();
}

Status JournalFile::replace(std::string_view content)
{
    const std::filesystem::path path = m_handle->file.path();
    WASTE_TRY_STATUS(m_handle->file.close()); // not every system replaces an open file
    Status replaced = replaceFile(path, content);
    WASTE_TRY(m_handle->file, OutputFile::open(path, OutputFile::Mode::Update, OutputFile::Permissions::OwnerOnly));
    return replaced;
}

std::uint64_t JournalFile::sizeBytes() const
{
    return m_handle->file.sizeBytes();
}

struct HeldLock::Handle {
    FileLock lock;
};

HeldLock::HeldLock(std::unique_ptr<Handle> handle)
    : m_handle(std::move(handle))
{
}

HeldLock::~HeldLock() = default;
HeldLock::HeldLock(HeldLock&&) noexcept = default;
HeldLock& HeldLock::operator=(HeldLock&&) noexcept = default;

Result<HeldLock> HeldLock::acquire(const std::filesystem::path& lockFile)
{
    WASTE_TRY(FileLock lock, FileLock::acquire(lockFile));
    return HeldLock(std::make_unique<Handle>(Handle{std::move(lock)}));
}

std::uint64_t processId()
{
    return currentProcessId();
}

Result<std::string> readFile(const std::filesystem::path& path, std::uint64_t bytesMax)
{
    return readSmallFile(path, bytesMax);
}

Status replaceFile(const std::filesystem::path& path, std::string_view content)
{
    return writeFileAtomically(path, content, AtomicFile::Permissions::OwnerOnly);
}

Status makePrivateFolder(const std::filesystem::path& path)
{
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return {};
    if (path.has_parent_path() && path.parent_path() != path)
        WASTE_TRY_STATUS(makePrivateFolder(path.parent_path()));
    std::filesystem::create_directory(path, error);
    if (!error)
        std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
    if (error)
        return fileError("create the folder", path, error);
    return {};
}

Status flushFolder(const std::filesystem::path& path)
{
    return flushDirectory(path);
}

std::string sha256Text(std::string_view bytes)
{
    Sha256 sha;
    sha.update(std::as_bytes(std::span(bytes)));
    return hexText(sha.finish());
}

std::string textOfPath(const std::filesystem::path& path)
{
    return textFromPath(path);
}

std::filesystem::path pathOfText(std::string_view utf8)
{
    return pathFromText(utf8);
}

} // namespace waste
