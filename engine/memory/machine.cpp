#include "platform/system_memory.h"
#include "waste/memory_plan.h"

namespace waste {

Machine Machine::detect()
{
    return {.physicalBytes = physicalMemoryBytes(), .usableBytes = usableMemoryBytes(), .pages = machinePages()};
}

} // namespace waste
