#include "vision/decoder_memory.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

namespace waste {

struct alignas(std::max_align_t) DecoderMemory::Block {
    Block* newer;
    Block* older;
    std::size_t bytes;
};

namespace {

thread_local DecoderMemory* currentMemory = nullptr;

} // namespace

DecoderMemory::DecoderMemory(std::size_t bytesMax)
    : m_bytesLeft(bytesMax)
{
    assert(currentMemory == nullptr);
    currentMemory = this;
}

DecoderMemory::~DecoderMemory()
{
    while (m_blocks != nullptr)
        free(m_blocks + 1);
    currentMemory = nullptr;
}

DecoderMemory& DecoderMemory::current()
{
    assert(currentMemory != nullptr);
    return *currentMemory;
}

void* DecoderMemory::allocate(std::size_t bytes)
{
    const bool fits = bytes <= m_bytesLeft && m_bytesLeft - bytes >= sizeof(Block);
    // Zeroed: stb_image 2.27 reads the Huffman tables of a JPEG file that defines none, and with what lay in memory
    // before it looks for codes beyond their end.
    auto* block = fits ? static_cast<Block*>(std::calloc(1, sizeof(Block) + bytes)) : nullptr;
    if (block == nullptr) {
        m_refused = true;
        return nullptr;
    }
    m_bytesLeft -= sizeof(Block) + bytes;
    *block = {nullptr, m_blocks, bytes};
    if (m_blocks != nullptr)
        m_blocks->newer = block;
    m_blocks = block;
    return block + 1;
}

void* DecoderMemory::reallocate(void* pointer, std::size_t bytes)
{
    void* grown = allocate(bytes);
    if (grown == nullptr || pointer == nullptr)
        return grown;
    std::memcpy(grown, pointer, std::min(bytes, (static_cast<Block*>(pointer) - 1)->bytes));
    free(pointer);
    return grown;
}

void DecoderMemory::free(void* pointer)
{
    if (pointer == nullptr)
        return;
    Block* block = static_cast<Block*>(pointer) - 1;
    (block->newer != nullptr ? block->newer->older : m_blocks) = block->older;
    if (block->older != nullptr)
        block->older->newer = block->newer;
    m_bytesLeft += sizeof(Block) + block->bytes;
    std::free(block);
}

bool DecoderMemory::reserve(std::size_t bytes)
{
    if (bytes > m_bytesLeft)
        return false;
    m_bytesLeft -= bytes;
    return true;
}

} // namespace waste
