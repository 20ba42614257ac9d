#include "convert/space_wait.h"

#include "platform/volume_space.h"

#include <chrono>
#include <thread>

namespace waste {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookAgain = 1s;
constexpr auto kCancelPoll = 50ms;

// At least one pause: a write can fail although the drive has room, for a quota that it does not tell of.
Status waitUntil(
    const std::filesystem::path& target, std::uint64_t bytes, std::uint64_t free, const ConversionProgress& progress)
{
    progress.report(ConvertWaiting{.cause = ConvertWaiting::Cause::NoSpace, .bytesNeeded = bytes, .bytesFree = free});
    do {
        WASTE_TRY_STATUS(pause(kLookAgain, progress));
        WASTE_TRY(free, freeSpaceBytes(target));
    } while (free < bytes);
    return {};
}

} // namespace

Status pause(std::chrono::milliseconds time, const ConversionProgress& progress)
{
    for (auto waited = 0ms; waited < time; waited += kCancelPoll) {
        WASTE_TRY_STATUS(progress.checkCancelled());
        std::this_thread::sleep_for(kCancelPoll);
    }
    return progress.checkCancelled();
}

Status waitForRoom(const std::filesystem::path& target, std::uint64_t bytes, const ConversionProgress& progress)
{
    WASTE_TRY(const std::uint64_t free, freeSpaceBytes(target));
    return free < bytes ? waitUntil(target, bytes, free, progress) : Status();
}

Status writePatiently(const std::filesystem::path& target, std::uint64_t bytes, const ConversionProgress& progress,
    const std::function<Status()>& write)
{
    for (;;) {
        Status written = write();
        if (written || written.error().code != ErrorCode::NoSpace)
            return written;
        WASTE_TRY(const std::uint64_t free, freeSpaceBytes(target));
        WASTE_TRY_STATUS(waitUntil(target, bytes, free, progress));
    }
}

} // namespace waste
