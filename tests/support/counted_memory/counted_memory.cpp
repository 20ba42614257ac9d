#include "counted_memory.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WASTE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WASTE_SANITIZED 1
#endif
#endif

namespace {

std::atomic<std::uint64_t> g_allocations = 0;
std::atomic<std::uint64_t> g_largeAllocations = 0;
std::atomic<std::uint64_t> g_failing = UINT64_MAX;
std::atomic<std::uint64_t> g_bytes = 0;
std::atomic<std::uint64_t> g_bytesPeak = 0;

} // namespace

namespace waste::test {

bool memoryIsCounted()
{
#ifdef WASTE_SANITIZED
    return false;
#else
    return true;
#endif
}

std::uint64_t allocationCount()
{
    return g_allocations;
}

std::uint64_t largeAllocationCount()
{
    return g_largeAllocations;
}

std::uint64_t allocatedBytes()
{
    return g_bytes;
}

std::uint64_t allocatedBytesPeak()
{
    return g_bytesPeak;
}

void restartAllocatedBytesPeak()
{
    g_bytesPeak = g_bytes.load();
}

void failLargeAllocation(std::uint64_t n)
{
    g_failing = g_largeAllocations + n;
}

void failNoAllocation()
{
    g_failing = UINT64_MAX;
}

} // namespace waste::test

#ifndef WASTE_SANITIZED

#ifdef __GLIBC__
namespace {

void* counted(void* memory)
{
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    if (memory == nullptr)
        return nullptr;
    const std::size_t added = malloc_usable_size(memory);
    const std::uint64_t bytes = g_bytes.fetch_add(added, std::memory_order_relaxed) + added;
    std::uint64_t peak = g_bytesPeak.load(std::memory_order_relaxed);
    while (peak < bytes && !g_bytesPeak.compare_exchange_weak(peak, bytes, std::memory_order_relaxed)) { }
    return memory;
}

} // namespace

// The C library's own names of what is replaced below.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void __libc_free(void* memory);

void* malloc(std::size_t bytes)
{
    return counted(__libc_malloc(bytes));
}

void* calloc(std::size_t count, std::size_t bytes)
{
    return counted(__libc_calloc(count, bytes));
}

void* realloc(void* memory, std::size_t bytes)
{
    const std::size_t before = memory != nullptr ? malloc_usable_size(memory) : 0;
    void* const grown = __libc_realloc(memory, bytes);
    if (grown != nullptr || bytes == 0)
        g_bytes.fetch_sub(before, std::memory_order_relaxed);
    return counted(grown);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes)
{
    return counted(__libc_memalign(alignment, bytes));
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes)
{
    *memory = counted(__libc_memalign(alignment, bytes));
    return *memory == nullptr ? ENOMEM : 0;
}

void free(void* memory)
{
    if (memory != nullptr)
        g_bytes.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
    __libc_free(memory);
}
}
#endif

namespace {

constexpr std::size_t kLargeBytes = 1024;

// What Windows aligns it also has to free in another way.
#ifdef _WIN32
void* allocateAligned(std::size_t bytes, std::size_t alignment)
{
    return _aligned_malloc(bytes, alignment);
}
void releaseAligned(void* memory)
{
    _aligned_free(memory);
}
#else
void* allocateAligned(std::size_t bytes, std::size_t alignment)
{
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
[[gnu::noinline]] void releaseAligned(void* memory)
{
    std::free(memory);
}
#endif

// Never inlined: the compiler would see a malloc beside a delete and warn.
[[gnu::noinline]] void* allocate(std::size_t bytes, std::size_t alignment)
{
#ifndef __GLIBC__
    g_allocations.fetch_add(1, std::memory_order_relaxed);
#endif
    if (bytes >= kLargeBytes
        && g_largeAllocations.fetch_add(1, std::memory_order_relaxed) == g_failing.load(std::memory_order_relaxed))
        throw std::bad_alloc();
    void* memory = alignment == 1 ? std::malloc(bytes) : allocateAligned(bytes, alignment);
    if (memory == nullptr)
        throw std::bad_alloc();
    return memory;
}

[[gnu::noinline]] void release(void* memory)
{
    std::free(memory);
}

} // namespace

void* operator new(std::size_t bytes)
{
    return allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment)
{
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept
{
    release(memory);
}
void operator delete(void* memory, std::size_t) noexcept
{
    release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept
{
    releaseAligned(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept
{
    releaseAligned(memory);
}

#endif
