#include "waste/converter.h"

#include "base/crc32.h"
#include "convert/bank_check.h"
#include "convert/bank_writer.h"
#include "convert/conversion_plan.h"
#include "convert/conversion_progress.h"
#include "convert/layer_store.h"
#include "convert/publication.h"
#include "convert/side_files.h"
#include "convert/source_reader.h"
#include "convert/space_wait.h"
#include "convert/target_state.h"
#include "convert/trunk_writer.h"
#include "convert/work_folder.h"
#include "kernels/thread_pool.h"
#include "platform/file_error.h"
#include "platform/output_file.h"
#include "platform/path_text.h"
#include "platform/threads.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <utility>

namespace waste {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kConverterName = "WASTE Desktop";

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// One run over one target: what was planned, what is there, what is made. Its functions are called in the
// order in which they stand.
class Conversion {
public:
    Conversion(const ConvertOptions& options, const CheckpointFiles& files, const ConversionPlan& plan,
        const std::vector<SideFile>& sideFiles, const WorkFolder& folder, const TargetState& target,
        ConversionProgress& progress)
        : m_options(options)
        , m_files(files)
        , m_plan(plan)
        , m_sideFiles(sideFiles)
        , m_folder(folder)
        , m_target(target)
        , m_store(folder, plan, target.published)
        , m_progress(progress)
        , m_pool({.threadCount = options.threadCount != 0 ? options.threadCount : physicalCoreCount()})
    {
        if (plan.quant.bitsPerWeight() < 3)
            warn("experts at 2 bits lose a third of every weight; the answers will be poor");
    }

    Status findFinishedLayers()
    {
        std::vector<const BankEntry*> found;
        std::uint64_t foundBytes = 0;
        for (const BankEntry& bank : m_plan.banks) {
            WASTE_TRY(LayerStore::Remains remains, m_store.find(bank));
            if (!remains.damage.empty())
                warnOfDamage(bank, remains.damage);
            if (!remains.layer)
                continue;
            m_layers.emplace(bank.layer, std::move(*remains.layer));
            found.push_back(&bank);
            foundBytes += bank.bytes;
        }
        if (!found.empty())
            m_progress.begin("checking", foundBytes);
        for (const BankEntry* bank : found)
            WASTE_TRY_STATUS(checkFinishedBank(*bank));

        ConvertPlan announced;
        announced.containerBytes = m_plan.containerBytes();
        for (const BankEntry& bank : m_plan.banks)
            (m_layers.contains(bank.layer) ? announced.layersKept : announced.layers).push_back(bank.layer);
        m_report.layersKept = static_cast<std::uint32_t>(announced.layersKept.size());
        m_progress.report(announced);
        return {};
    }

    Status checkSpace() const
    {
        std::uint64_t bytes = m_plan.codebooksBytes() + m_plan.trunkFileBytes;
        for (const BankEntry& bank : m_plan.banks)
            bytes += m_layers.contains(bank.layer) ? 0 : bank.bytes;
        bytes += bytes / 100;
        WASTE_TRY(const std::uint64_t available, freeSpaceBytes(m_folder.target()));
        if (available >= bytes)
            return {};
        return Error{ErrorCode::NoSpace, "no_space",
            textFromPath(m_folder.target()) + " needs " + std::to_string(bytes) + " bytes of free space and has "
                + std::to_string(available)
                + "; free some and start the conversion again, it goes on where it stopped"};
    }

    Status convertLayers()
    {
        m_progress.begin("experts", m_plan.bankBytes());
        for (const BankEntry& bank : m_plan.banks) {
            if (m_layers.contains(bank.layer))
                m_progress.advance(bank.bytes);
            else
                WASTE_TRY_STATUS(convertLayer(bank));
        }
        return {};
    }

    Status writeCodebooks()
    {
        std::vector<std::byte> codebooks;
        for (const auto& [number, layer] : m_layers)
            codebooks.insert(codebooks.end(), layer.codebooks.begin(), layer.codebooks.end());
        assert(codebooks.size() == m_plan.codebooksBytes());
        m_codebooksCrc32 = crc32(codebooks);
        return patiently(codebooks.size(), [&] { return m_folder.writeTarget(kCodebooksFile, codebooks); });
    }

    Status writeSideFiles()
    {
        for (const SideFile& file : m_sideFiles)
            WASTE_TRY_STATUS(patiently(file.content.size(), [&] { return writeSideFile(file, m_folder); }));
        return {};
    }

    Status writeTrunk()
    {
        m_progress.begin("trunk", m_plan.trunkBytes());
        WASTE_TRY(OutputFile file, OutputFile::open(m_folder.path(kTrunkFile), OutputFile::Mode::Replace));
        WASTE_TRY(WrittenTrunk trunk, waste::writeTrunk(m_files, m_plan, file, m_pool, m_progress));
        WASTE_TRY_STATUS(file.flush());
        WASTE_TRY_STATUS(file.close());
        m_trunk = std::move(trunk.entries);
        m_report.trunkError = trunk.quantised.relative();
        return {};
    }

    Status publish()
    {
        DesktopMetadata desktop;
        desktop.converter = kConverterName;
        desktop.sourceRepository = m_options.sourceRepository;
        desktop.sourceRevision = m_options.sourceRevision;
        desktop.recipe = m_plan.recipe;
        desktop.seed = m_plan.seed;
        desktop.created = m_target.created;
        for (const auto& [number, layer] : m_layers)
            desktop.errors[number] = {layer.errors.gate, layer.errors.up, layer.errors.down};
        const std::string manifest = composeManifest({.config = m_plan.manifestConfig,
            .architecture = std::string(m_plan.config.name()),
            .tensorPrefix = m_plan.config.tensorPrefix,
            .expertQuant = m_plan.quant,
            .codebooksCrc32 = m_codebooksCrc32,
            .banks = m_plan.banks,
            .trunk = m_trunk,
            .desktop = std::move(desktop)});
        // Our own reader has the last word on what others will have to read.
        WASTE_TRY_STATUS(Manifest::parse(manifest));
        WASTE_TRY_STATUS(patiently(manifest.size(), [&] { return m_folder.write(kManifestFile, manifest); }));
        WASTE_TRY_STATUS(writeIntegrity());
        return commitContainer(m_folder);
    }

    void warn(const std::string& sentence)
    {
        m_report.warnings.push_back(sentence);
        if (m_options.log)
            m_options.log(LogLevel::Warning, sentence);
    }

    ConvertReport report(double seconds)
    {
        m_report.containerBytes = m_plan.containerBytes();
        const auto count = static_cast<double>(std::max<std::size_t>(1, m_layers.size()));
        for (const auto& [number, layer] : m_layers) {
            m_report.errors.gate += layer.errors.gate / count;
            m_report.errors.up += layer.errors.up / count;
            m_report.errors.down += layer.errors.down / count;
        }
        m_report.seconds = seconds;
        m_progress.report(m_report);
        return m_report;
    }

private:
    // A bank that is not whole makes its layer one that must be converted.
    Status checkFinishedBank(const BankEntry& bank)
    {
        std::uint64_t checkedBytes = 0;
        const auto checked = [&](std::uint64_t bytes) {
            checkedBytes += bytes;
            m_progress.advance(bytes);
            return m_progress.checkCancelled();
        };
        auto sound = checkBank(m_store.finishedPath(bank), m_plan, bank, checked);
        if (sound) {
            m_integrity[bank.file] = std::move(*sound);
            return {};
        }
        if (sound.error().code != ErrorCode::Corrupt && sound.error().code != ErrorCode::NotFound)
            return sound.error();
        m_progress.advance(bank.bytes - checkedBytes);
        m_layers.erase(bank.layer);
        if (sound.error().code == ErrorCode::Corrupt)
            warnOfDamage(bank, sound.error().message);
        return {};
    }

    // Published before the manifest, so that there is no container without it. What it states is read back from the
    // device, where all files are by now.
    Status writeIntegrity()
    {
        const auto digest = [this](const std::filesystem::path& path, std::string_view name) -> Status {
            const auto read = [this](std::uint64_t) { return m_progress.checkCancelled(); };
            WASTE_TRY(m_integrity[std::string(name)], digestFile(path, FileDigester(), read));
            return {};
        };
        WASTE_TRY_STATUS(digest(m_folder.path(kManifestFile), kManifestFile));
        WASTE_TRY_STATUS(digest(m_folder.path(kTrunkFile), kTrunkFile));
        WASTE_TRY_STATUS(digest(m_folder.target() / kCodebooksFile, kCodebooksFile));
        for (const SideFile& file : m_sideFiles)
            WASTE_TRY_STATUS(digest(m_folder.target() / file.name, file.name));
        const std::string text = composeIntegrity(m_integrity);
        return patiently(
            text.size(), [&] { return m_folder.writeTarget(kIntegrityFile, std::as_bytes(std::span(text))); });
    }

    // For the small files of the container.
    [[nodiscard]] Status patiently(std::uint64_t bytes, const std::function<Status()>& write) const
    {
        return writePatiently(m_folder.target(), bytes, m_progress, write);
    }

    void warnOfDamage(const BankEntry& bank, const std::string& damage)
    {
        warn("layer " + std::to_string(bank.layer) + " is converted again, what was kept of it is damaged: " + damage);
    }

    Status convertLayer(const BankEntry& bank)
    {
        WASTE_TRY_STATUS(waitForRoom(m_folder.target(), bank.bytes, m_progress));
        const Clock::time_point start = Clock::now();
        m_progress.report(ConvertLayerStart{bank.layer});
        const std::filesystem::path path = m_store.bankPath(bank);
        WASTE_TRY(OutputFile file, OutputFile::open(path, OutputFile::Mode::Replace));
        WASTE_TRY(FinishedLayer layer, writeBank(m_files, m_plan, bank, file, m_pool, m_progress));
        WASTE_TRY_STATUS(file.flush());
        WASTE_TRY_STATUS(file.close());
        const auto checked = [this](std::uint64_t) { return m_progress.checkCancelled(); };
        WASTE_TRY(m_integrity[bank.file], checkBank(path, m_plan, bank, checked));
        WASTE_TRY_STATUS(patiently(layer.codebooks.size(), [&] { return m_store.keep(bank, layer); }));
        ++m_report.layersConverted;
        m_progress.report(ConvertLayerDone{bank.layer, bank.bytes, layer.errors, secondsSince(start)});
        m_layers.emplace(bank.layer, std::move(layer));
        return {};
    }

    const ConvertOptions& m_options;
    const CheckpointFiles& m_files;
    const ConversionPlan& m_plan;
    const std::vector<SideFile>& m_sideFiles;
    const WorkFolder& m_folder;
    const TargetState& m_target;
    const LayerStore m_store;
    ConversionProgress& m_progress;
    ThreadPool m_pool;

    std::map<std::uint32_t, FinishedLayer> m_layers; // by number: the order of their codebooks
    std::uint32_t m_codebooksCrc32 = 0;
    std::vector<TrunkEntry> m_trunk;
    Integrity m_integrity; // of the banks at first
    ConvertReport m_report;
};

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
    WASTE_TRY(WorkFolder folder, WorkFolder::open(options.target));
    WASTE_TRY_STATUS(recoverCommit(options.target));
    auto target = prepareTarget(folder, plan, options);
    if (!target) {
        (void)WorkFolder::removeUnused(std::move(folder)); // the refusal is what matters
        return std::move(target.error());
    }

    Conversion conversion(options, *files, plan, sideFiles, folder, *target, progress);
    for (const std::string& warning : warnings)
        conversion.warn(warning);
    WASTE_TRY_STATUS(conversion.findFinishedLayers());
    WASTE_TRY_STATUS(conversion.checkSpace());
    WASTE_TRY_STATUS(conversion.convertLayers());
    WASTE_TRY_STATUS(conversion.writeCodebooks());
    WASTE_TRY_STATUS(conversion.writeSideFiles());
    WASTE_TRY_STATUS(conversion.writeTrunk());
    WASTE_TRY_STATUS(conversion.publish());
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
