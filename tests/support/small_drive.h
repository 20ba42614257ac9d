#pragma once

#include <cstdint>

namespace waste::test {

// For as long as it lives, all drives seem to have this much room. Nothing is hindered from writing. One at a time;
// Linux only, elsewhere isSupported() is false and drives have what they have.
class SmallDrive {
public:
    explicit SmallDrive(std::uint64_t freeBytes);
    ~SmallDrive();
    SmallDrive(const SmallDrive&) = delete;
    SmallDrive& operator=(const SmallDrive&) = delete;

    void setFreeBytes(std::uint64_t bytes);
    static bool isSupported();
};

} // namespace waste::test
