#pragma once

#include <cstdint>

// Linked into a test, counts what its whole program allocates, and lets one allocation fail.
namespace waste::test {

// A sanitizer brings an allocator of its own, which must not be replaced: then nothing is counted.
bool memoryIsCounted();

// Allocations of any thread since the program began: operator new, and with glibc malloc and its family too,
// through which the libraries allocate.
std::uint64_t allocationCount();

// Bytes that are allocated now, as large as they were rounded up, and how many there were at most since the start or
// the last restart. Zero without glibc.
std::uint64_t allocatedBytes();
std::uint64_t allocatedBytesPeak();
void restartAllocatedBytesPeak();

// Calls of operator new for a kibibyte or more. Small ones may fail inside libraries that do not survive it:
// std::filesystem::path of GCC 12 frees twice, the JSON library allocates in a destructor.
std::uint64_t largeAllocationCount();
// The n-th of these from here, 0 being the next, throws std::bad_alloc.
void failLargeAllocation(std::uint64_t n);
void failNoAllocation();

} // namespace waste::test
