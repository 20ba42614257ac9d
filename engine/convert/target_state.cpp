#include "convert/target_state.h"

#include "base/current_time.h"
#include "checkpoint/json_file.h"
#include "container/format.h"
#include "container/integrity.h"
#include "container/part_file.h"
#include "convert/side_files.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace waste {
namespace {

constexpr std::string_view kPlanFile = "plan.json";
constexpr std::uint64_t kPlanBytesMax = 64U << 10;

struct StoredPlan {
    std::string recipe;
    std::string created;
    std::string source;
};

std::string textMember(const nlohmann::json& object, const char* key)
{
    const auto value = object.find(key);
    return value != object.end() && value->is_string() ? value->get<std::string>() : std::string();
}

// Empty if there is none, or none that can be read: then the folder is worth nothing.
Result<std::optional<StoredPlan>> readPlan(const std::filesystem::path& target)
{
    const auto text = readSmallFile(target / kConversionFolder / kPlanFile, kPlanBytesMax);
    if (!text && text.error().code == ErrorCode::Io)
        return text.error();
    const auto root = text ? parseJsonObject(*text, kPlanFile) : Result<nlohmann::json>(text.error());
    if (!root)
        return std::optional<StoredPlan>();
    return std::optional(
        StoredPlan{textMember(*root, "recipe"), textMember(*root, "created"), textMember(*root, "source")});
}

Status writePlan(const WorkFolder& folder, const StoredPlan& plan)
{
    const nlohmann::json root = {{"recipe", plan.recipe}, {"created", plan.created}, {"source", plan.source}};
    return folder.write(kPlanFile, root.dump(2) + "\n");
}

// Whether the target has anything besides the work folder.
Result<bool> isEmptyTarget(const std::filesystem::path& target)
{
    WASTE_TRY(const std::vector<std::filesystem::path> entries, listFolder(target));
    return std::ranges::all_of(entries, [](const auto& entry) { return entry.filename() == kConversionFolder; });
}

// Why this recipe cannot go on with what another has made.
std::string otherRecipe(std::string_view made, const ConversionPlan& plan)
{
    const std::string settings = settingsOfRecipe(made);
    if (settings.empty() || sourceOfRecipe(made) != plan.source)
        return "of other weights";
    return "with other settings (" + settings + "; now " + settingsOfRecipe(plan.recipe) + ")";
}

// What is in the way, in words; empty: nothing. A container in the target decides, else what was begun there,
// else whether there is anything at all. Fills state.published.
Result<std::string> findOccupant(
    const WorkFolder& folder, const ConversionPlan& plan, const std::optional<StoredPlan>& begun, TargetState& state)
{
    const auto text = readSmallFile(folder.target() / kManifestFile, Manifest::kBytesMax);
    if (text || text.error().code == ErrorCode::Corrupt) {
        auto manifest = text ? Manifest::parse(*text) : Result<Manifest>(text.error());
        if (!manifest)
            return std::string("a container that cannot be read");
        if (manifest->desktop.recipe != plan.recipe)
            return "a container " + otherRecipe(manifest->desktop.recipe, plan);
        state.published = std::move(*manifest);
        return std::string();
    }
    if (text.error().code != ErrorCode::NotFound)
        return text.error();
    if (begun && begun->recipe != plan.recipe)
        return "an unfinished conversion " + otherRecipe(begun->recipe, plan);
    if (begun)
        return std::string();
    WASTE_TRY(const bool isEmpty, isEmptyTarget(folder.target()));
    return std::string(isEmpty ? "" : "other files");
}

// Files that a conversion writes, besides the manifest.
bool isOfContainer(const std::string& name)
{
    return name == kTrunkFile || name == kCodebooksFile || name == kIntegrityFile
        || std::ranges::find(kSideFiles, name) != kSideFiles.end()
        || (name.starts_with("experts-L") && name.ends_with(".bin"));
}

// The manifest goes first: from then on nobody takes the rest for a container.
Status discard(const WorkFolder& folder)
{
    WASTE_TRY_STATUS(removeFile(folder.target() / kManifestFile));
    WASTE_TRY_STATUS(folder.clear());
    WASTE_TRY(const std::vector<std::filesystem::path> entries, listFolder(folder.target()));
    for (const std::filesystem::path& entry : entries) {
        if (isOfContainer(textFromPath(entry.filename())))
            WASTE_TRY_STATUS(removeBank(entry));
    }
    return {};
}

} // namespace

Result<TargetState> prepareTarget(const WorkFolder& folder, const ConversionPlan& plan, const ConvertOptions& options)
{
    TargetState state;
    WASTE_TRY(const std::optional<StoredPlan> begun, readPlan(folder.target()));
    WASTE_TRY(const std::string occupant, findOccupant(folder, plan, begun, state));
    if (!occupant.empty() && !options.force)
        return Error{ErrorCode::InvalidArgument, "target_occupied",
            textFromPath(folder.target()) + " already holds " + occupant
                + "; choose another folder or the same settings, or replace it by force (--force)"};
    if (occupant.empty() && begun && begun->recipe == plan.recipe) {
        state.created = begun->created;
        return state;
    }

    if (!occupant.empty())
        WASTE_TRY_STATUS(discard(folder));
    if (state.published) { // and its work folder half deleted: what is left in it may be all that tells of deleted
                           // shards
        state.created = state.published->desktop.created;
    } else {
        WASTE_TRY_STATUS(folder.clear()); // remains of another recipe are worth nothing
        state.created = options.created.empty() ? currentTime() : options.created;
    }
    WASTE_TRY_STATUS(writePlan(folder, {plan.recipe, state.created, plan.source}));
    return state;
}

Result<std::string> begunSource(const std::filesystem::path& target)
{
    WASTE_TRY(const std::optional<StoredPlan> begun, readPlan(target));
    if (begun)
        return begun->source;
    const auto text = readSmallFile(target / kManifestFile, Manifest::kBytesMax);
    const auto manifest = text ? Manifest::parse(*text) : Result<Manifest>(text.error());
    return manifest ? sourceOfRecipe(manifest->desktop.recipe) : std::string();
}

} // namespace waste
