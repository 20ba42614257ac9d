#include "support/cached_pages.h"

#if defined(__linux__)

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace waste::test {

std::optional<std::size_t> cachedPages(const std::filesystem::path& file)
{
    const std::size_t bytes = std::filesystem::file_size(file);
    const std::size_t pageBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return std::nullopt;
    void* const mapping = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0); // reads nothing
    close(descriptor);
    if (mapping == MAP_FAILED)
        return std::nullopt;
    std::vector<unsigned char> pages((bytes + pageBytes - 1) / pageBytes);
    const bool told = mincore(mapping, bytes, pages.data()) == 0;
    munmap(mapping, bytes);
    if (!told)
        return std::nullopt;
    return std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) != 0; });
}

bool dropCachedPages(const std::filesystem::path& file)
{
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    (void)fsync(descriptor); // only what is written can be dropped
    (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
    return cachedPages(file) == std::size_t{0};
}

} // namespace waste::test

#else

namespace waste::test {

std::optional<std::size_t> cachedPages(const std::filesystem::path&)
{
    return std::nullopt;
}

bool dropCachedPages(const std::filesystem::path&)
{
    return false;
}

} // namespace waste::test

#endif
