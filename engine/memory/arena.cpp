#include "memory/arena.h"

#include <utility>

namespace waste {

Result<Arena> Arena::create(std::uint64_t capacityBytes, std::string_view purpose)
{
    WASTE_TRY(Pages pages, Pages::allocate(capacityBytes, purpose));
    return Arena(std::move(pages), capacityBytes);
}

Arena::Arena(Pages pages, std::uint64_t capacityBytes)
    : m_pages(std::move(pages))
    , m_capacityBytes(capacityBytes)
{
}

} // namespace waste
