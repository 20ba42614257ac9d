#include "convert/publication.h"

#include "container/format.h"

#include <string>

namespace waste {
namespace {

std::string pendingName(std::string_view file)
{
    return std::string(file) + ".new";
}

Status dropSuffix(const WorkFolder& folder, std::string_view file)
{
    return folder.rename(folder.target() / pendingName(file), folder.target() / file);
}

} // namespace

Status commitContainer(const WorkFolder& folder)
{
    WASTE_TRY(const bool hasTrunk, isThere(folder.path(kTrunkFile)));
    if (hasTrunk)
        WASTE_TRY_STATUS(folder.publish(kTrunkFile, pendingName(kTrunkFile)));
    WASTE_TRY_STATUS(folder.publish(kManifestFile, pendingName(kManifestFile)));
    return recoverCommit(folder);
}

Status recoverCommit(const WorkFolder& folder)
{
    const std::filesystem::path trunk = folder.target() / pendingName(kTrunkFile);
    WASTE_TRY(const bool isCommitted, isThere(folder.target() / pendingName(kManifestFile)));
    WASTE_TRY(const bool trunkIsPending, isThere(trunk));
    if (!isCommitted)
        return trunkIsPending ? folder.rename(trunk, folder.path(kTrunkFile)) : Status();
    if (trunkIsPending)
        WASTE_TRY_STATUS(dropSuffix(folder, kTrunkFile));
    return dropSuffix(folder, kManifestFile);
}

} // namespace waste
