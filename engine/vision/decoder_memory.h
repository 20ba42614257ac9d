#pragma once

#include <cstddef>

namespace waste {

// What the picture decoder may allocate while this object lives, on the thread that made it: the library's
// allocation hooks have no argument for a context. One a thread at a time. What the library leaves behind is
// freed at the end.
class DecoderMemory {
public:
    explicit DecoderMemory(std::size_t bytesMax);
    ~DecoderMemory();
    DecoderMemory(const DecoderMemory&) = delete;
    DecoderMemory& operator=(const DecoderMemory&) = delete;

    // Null: more than the bound. Bookkeeping counts as well.
    void* allocate(std::size_t bytes);
    void* reallocate(void* pointer, std::size_t bytes); // the old block stays if there is no room for the new one
    void free(void* pointer);
    // Counts memory that is allocated elsewhere for the rest of this object's life. False: more than the bound.
    [[nodiscard]] bool reserve(std::size_t bytes);

    [[nodiscard]] bool refused() const { return m_refused; } // anything since the beginning

    static DecoderMemory& current(); // of this thread

private:
    struct Block;

    std::size_t m_bytesLeft;
    bool m_refused = false;
    Block* m_blocks = nullptr; // alive, the newest first
};

} // namespace waste
