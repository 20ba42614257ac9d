#include "platform/atomic_file.h"

#include "platform/path_text.h"
#include "platform/processes.h"

#include <atomic>
#include <string>
#include <utility>

namespace waste {
namespace {

// Two programs, or two threads of one, may be replacing the same file.
std::filesystem::path temporaryFor(const std::filesystem::path& target)
{
    static std::atomic<std::uint32_t> counter = 0;
    std::filesystem::path temporary = target;
    temporary += ".tmp-" + std::to_string(currentProcessId()) + "-"
        + std::to_string(counter.fetch_add(1, std::memory_order_relaxed));
    return temporary;
}

} // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& target, Permissions permissions)
{
    // A rename would put the file in the place of whatever is there.
    std::error_code unknown;
    const std::filesystem::file_status there = std::filesystem::status(target, unknown);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
        return Error{ErrorCode::InvalidArgument, "not_a_file",
            "cannot write " + textFromPath(target) + ": it is no file; choose another name"};
    std::filesystem::path file = target;
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(target, unknown))) {
        if (std::filesystem::path led = std::filesystem::canonical(target, unknown); !unknown)
            file = std::move(led);
    }
    WASTE_TRY(OutputFile content, OutputFile::open(temporaryFor(file), OutputFile::Mode::Replace, permissions));
    return AtomicFile(std::move(file), std::move(content));
}

AtomicFile::AtomicFile(std::filesystem::path target, OutputFile content)
    : m_target(std::move(target))
    , m_content(std::move(content))
{
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : m_target(std::move(other.m_target))
    , m_content(std::move(other.m_content))
    , m_ownsTemporary(std::exchange(other.m_ownsTemporary, false))
{
}

AtomicFile::~AtomicFile()
{
    if (!m_ownsTemporary)
        return;
    (void)m_content.close(); // Windows removes no open file
    std::error_code ignored;
    std::filesystem::remove(m_content.path(), ignored);
}

Status AtomicFile::commit()
{
    WASTE_TRY_STATUS(m_content.flush());
    WASTE_TRY_STATUS(m_content.close());
    WASTE_TRY_STATUS(renameFile(m_content.path(), m_target));
    m_ownsTemporary = false;
    return flushDirectory(m_target.parent_path());
}

Status writeFileAtomically(
    const std::filesystem::path& target, std::string_view content, AtomicFile::Permissions permissions)
{
    WASTE_TRY(AtomicFile file, AtomicFile::create(target, permissions));
    WASTE_TRY_STATUS(file.content().append(content));
    return file.commit();
}

} // namespace waste
