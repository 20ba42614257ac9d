#include "waste/converter.h"

#include "checkpoint/checkpoint_files.h"
#include "container/container_files.h"
#include "convert/conversion.h"
#include "convert/publication.h"
#include "convert/reclaimer.h"
#include "convert/source_reader.h"
#include "convert/source_shards.h"
#include "platform/file_error.h"
#include "platform/path_text.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

namespace waste {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Nobody who reads of a failed drive after days should have to wonder what is left.
Error withRemedy(Error error)
{
    if (error.code == ErrorCode::Io)
        error.message +=
            "; what is finished is kept, the same conversion goes on from there when the drive works again";
    return error;
}

// A container among the files that it is made from would be taken for one of them.
Status checkPlaces(const ConvertOptions& options)
{
    std::error_code error;
    const auto source = std::filesystem::weakly_canonical(options.source, error);
    if (error)
        return fileError("find", options.source, error);
    const auto target = std::filesystem::weakly_canonical(options.target, error);
    if (error)
        return fileError("find", options.target, error);
    const auto [end, ignored] = std::ranges::mismatch(target, source);
    if (end == target.end())
        return Error{ErrorCode::InvalidArgument, "",
            textFromPath(options.target) + " contains the checkpoint; choose another folder for the container"};
    return {};
}

Status makeContainer(Conversion& conversion)
{
    WASTE_TRY_STATUS(conversion.findFinishedWork());
    WASTE_TRY_STATUS(conversion.checkSource());
    WASTE_TRY_STATUS(conversion.checkSpace());
    WASTE_TRY_STATUS(conversion.convertWeights());
    WASTE_TRY_STATUS(conversion.writeCodebooks());
    WASTE_TRY_STATUS(conversion.writeSideFiles());
    return conversion.publish();
}

// Tells the weights from others: by the download's checksums, by what an earlier run found, or (empty) by values that
// the plan reads. Shards that were deleted cannot be read for it any more.
Result<std::string> sourceIdentity(const ConvertOptions& options, SourceShards& shards, const CheckpointFiles& files)
{
    if (!shards.download().identity().empty())
        return shards.download().identity();
    for (std::uint32_t shard = 0; shard < files.shardNames().size(); ++shard) {
        if (!files.isShardOpen(shard))
            return begunSource(options.target);
    }
    return std::string();
}

// A container whose source was deleted shard by shard: there is nothing to do, and nothing to do it with.
Result<ConvertReport> finishedContainer(const ConvertOptions& options, const ConversionProgress& progress, Error gone)
{
    const auto container = ContainerFiles::open(options.target);
    if (!container || options.force)
        return gone;
    const std::string& recipe = container->manifest.desktop.recipe;
    if (recipe != recipeText(options, sourceOfRecipe(recipe)))
        return gone;
    WASTE_TRY(WorkFolder folder, WorkFolder::open(options.target, progress));
    WASTE_TRY_STATUS(WorkFolder::remove(std::move(folder)));
    ConvertReport report;
    report.containerBytes = container->totalBytes;
    report.layersKept = static_cast<std::uint32_t>(container->manifest.banks.size());
    progress.report(report);
    return report;
}

Result<ConvertReport> run(const ConvertOptions& options, const ConvertSink& sink, const CancelFlag* cancel)
{
    const Clock::time_point start = Clock::now();
    ConversionProgress progress(sink, cancel);
    WASTE_TRY(SourceShards shards, SourceShards::open(options, progress));
    auto opened = shards.openCheckpoint(progress);
    if (!opened && opened.error().reason == "reclaimed")
        return finishedContainer(options, progress, opened.error());
    WASTE_TRY(const std::unique_ptr<CheckpointFiles> files, std::move(opened));
    WASTE_TRY_STATUS(checkPlaces(options));
    WASTE_TRY_STATUS(Reclaimer::checkPlaces(options, shards));
    WASTE_TRY(const std::string source, sourceIdentity(options, shards, *files));
    WASTE_TRY(const ConversionPlan plan, planConversion(*files, options, source));
    std::vector<std::string> warnings(files->warnings().begin(), files->warnings().end());
    WASTE_TRY(const std::vector<SideFile> sideFiles,
        composeSideFiles(*files,
            {.architecture = plan.config.name(),
                .vocabularySize = plan.config.vocabularySize,
                .hiddenSize = plan.config.hiddenSize},
            warnings));
    WASTE_TRY(const BankPlaces places, BankPlaces::open(options));
    WASTE_TRY_STATUS(checkSmallTensors(*files, plan, progress));
    WASTE_TRY(WorkFolder folder, WorkFolder::open(options.target, progress));
    WASTE_TRY_STATUS(recoverCommit(folder));
    if (options.force && !shards.download().reclaimed().empty())
        return Error{ErrorCode::InvalidArgument, "",
            textFromPath(options.target)
                + " cannot be replaced: shards of its source were deleted after they had been "
                  "converted. Download them again into an empty folder and convert that"};
    auto target = prepareTarget(folder, plan, options);
    if (!target) {
        (void)WorkFolder::removeUnused(std::move(folder)); // the refusal is what matters
        return withRemedy(std::move(target.error()));
    }

    Conversion conversion(options, *files, shards, plan, sideFiles, folder, *target, places, progress);
    for (const std::string& warning : warnings)
        conversion.warn(warning);
    if (Status made = makeContainer(conversion); !made)
        return withRemedy(std::move(made.error()));
    // The container is complete: what cannot be deleted is in nobody's way.
    if (const Status removed = WorkFolder::remove(std::move(folder)); !removed)
        conversion.warn(removed.error().message);
    return conversion.report(secondsSince(start));
}

} // namespace

Result<ConvertReport> convert(const ConvertOptions& options, const ConvertSink& sink, const CancelFlag* cancel)
{
    try {
        return run(options, sink, cancel);
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::OutOfMemory, "out_of_memory", "there is not enough memory to convert this checkpoint"};
    } catch (const std::exception& exception) {
        return Error{ErrorCode::Internal, "internal", std::string("the conversion failed: ") + exception.what()};
    }
}

} // namespace waste
