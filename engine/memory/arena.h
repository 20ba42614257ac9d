#pragma once

#include "base/checked.h"
#include "platform/pages.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace waste {

inline constexpr std::size_t kArenaAlignment = 64; // a cache line, and the widest vector

// Adds up what an Arena would hand out. Plan and allocator run the same code on it,
//
//     template<typename A> Scratch carve(A& arena, const ModelConfig& config);
//
// once with an ArenaSize for the plan and once with an Arena of that size, so they cannot disagree.
class ArenaSize {
public:
    template<typename T>
    std::span<T> take(std::size_t count, std::size_t alignment = kArenaAlignment)
    {
        m_bytes = roundUp<std::uint64_t>(m_bytes, alignment) + std::uint64_t{count} * sizeof(T);
        return {};
    }
    [[nodiscard]] std::uint64_t bytes() const { return m_bytes; }

private:
    std::uint64_t m_bytes = 0;
};

// Memory for one purpose, of the size that the plan gives it. Pieces are zeroed, taken one after another
// while the model opens, and live as long as the arena. One thread at a time.
class Arena {
public:
    // Errors: OutOfMemory, naming the purpose.
    static Result<Arena> create(std::uint64_t capacityBytes, std::string_view purpose);

    // More than the plan provides is our own fault and nothing can continue: std::bad_alloc, which ends at
    // the facade. `alignment` is a power of two up to 16 KiB.
    template<typename T>
    std::span<T> take(std::size_t count, std::size_t alignment = kArenaAlignment)
    {
        static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
        const std::uint64_t start = roundUp<std::uint64_t>(m_usedBytes, alignment);
        if (start > m_capacityBytes || count > (m_capacityBytes - start) / sizeof(T))
            throw std::bad_alloc();
        m_usedBytes = start + std::uint64_t{count} * sizeof(T);
        return {reinterpret_cast<T*>(m_pages.bytes().data() + start), count};
    }

    // Keeps all of it from being paged out. Error: Unsupported, saying what limit is in the way.
    [[nodiscard]] Status lock() { return m_pages.lock(); }

    // A piece that is not needed for now: its memory goes back to the system until it is touched again.
    void discard(std::span<std::byte> piece) { m_pages.discard(piece); }

    [[nodiscard]] std::uint64_t capacityBytes() const { return m_capacityBytes; }
    [[nodiscard]] std::uint64_t usedBytes() const { return m_usedBytes; }

private:
    Arena(Pages pages, std::uint64_t capacityBytes);

    Pages m_pages;
    std::uint64_t m_capacityBytes = 0;
    std::uint64_t m_usedBytes = 0;
};

} // namespace waste
