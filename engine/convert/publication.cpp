#include "convert/publication.h"

#include "container/format.h"

#include <string>

namespace waste {
namespace {

std::string pendingName(std::string_view file)
{
    return std::string(file) + ".new";
}

Status dropSuffix(const std::filesystem::path& target, std::string_view file)
{
    return renameDurably(target / pendingName(file), target / file);
}

} // namespace

Status commitContainer(const WorkFolder& folder)
{
    WASTE_TRY_STATUS(folder.publish(kTrunkFile, pendingName(kTrunkFile)));
    WASTE_TRY_STATUS(folder.publish(kManifestFile, pendingName(kManifestFile)));
    return recoverCommit(folder.target());
}

Status recoverCommit(const std::filesystem::path& target)
{
    const std::filesystem::path trunk = target / pendingName(kTrunkFile);
    WASTE_TRY(const bool isCommitted, isThere(target / pendingName(kManifestFile)));
    if (!isCommitted)
        return removeFile(trunk);
    WASTE_TRY(const bool trunkIsPending, isThere(trunk));
    if (trunkIsPending)
        WASTE_TRY_STATUS(dropSuffix(target, kTrunkFile));
    return dropSuffix(target, kManifestFile);
}

} // namespace waste
