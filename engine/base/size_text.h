#pragma once

#include <cstdint>
#include <string>

namespace waste {

// A size as a message to people states it: "46.24 GiB", "355 MiB", "1024 bytes". Rounded up, so that a size typed back
// as it was read is enough.
std::string sizeText(std::uint64_t bytes);

} // namespace waste
