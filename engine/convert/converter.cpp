#include "waste/converter.h"

#include "checkpoint/checkpoint_files.h"
#include "convert/conversion.h"
#include "convert/publication.h"
#include "convert/source_reader.h"
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
    WASTE_TRY_STATUS(conversion.checkSpace());
    WASTE_TRY_STATUS(conversion.convertWeights());
    WASTE_TRY_STATUS(conversion.writeCodebooks());
    WASTE_TRY_STATUS(conversion.writeSideFiles());
    return conversion.publish();
}

Result<ConvertReport> run(const ConvertOptions& options, const ConvertSink& sink, const CancelFlag* cancel)
{
    const Clock::time_point start = Clock::now();
    WASTE_TRY(const std::unique_ptr<const CheckpointFiles> files, CheckpointFiles::open(options.source));
    WASTE_TRY_STATUS(checkPlaces(options));
    ConversionProgress progress(sink, cancel);
    WASTE_TRY(const ConversionPlan plan, planConversion(*files, options));
    std::vector<std::string> warnings(files->warnings().begin(), files->warnings().end());
    WASTE_TRY(const std::vector<SideFile> sideFiles,
        composeSideFiles(*files,
            {.architecture = plan.config.name(),
                .vocabularySize = plan.config.vocabularySize,
                .hiddenSize = plan.config.hiddenSize},
            warnings));
    WASTE_TRY_STATUS(checkSmallTensors(*files, plan, progress));
    WASTE_TRY(WorkFolder folder, WorkFolder::open(options.target, progress));
    WASTE_TRY_STATUS(recoverCommit(folder));
    auto target = prepareTarget(folder, plan, options);
    if (!target) {
        (void)WorkFolder::removeUnused(std::move(folder)); // the refusal is what matters
        return withRemedy(std::move(target.error()));
    }

    Conversion conversion(options, *files, plan, sideFiles, folder, *target, progress);
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
