#include "convert/conversion.h"

#include "base/crc32.h"
#include "base/size_text.h"
#include "container/part_file.h"
#include "convert/bank_check.h"
#include "convert/bank_writer.h"
#include "convert/conversion_memory.h"
#include "convert/publication.h"
#include "convert/source_reader.h"
#include "convert/space_wait.h"
#include "platform/file_facts.h"
#include "platform/output_file.h"
#include "platform/path_text.h"
#include "platform/threads.h"
#include "platform/volume_space.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace waste {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kConverterName = "WASTE Desktop";

// What of the trunk is made at a time: little enough that a crash costs seconds.
constexpr std::uint64_t kTrunkUnitBytes = std::uint64_t{256} << 20;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

Conversion::Conversion(const ConvertOptions& options, CheckpointFiles& files, SourceShards& shards,
    const ConversionPlan& plan, const std::vector<SideFile>& sideFiles, const WorkFolder& folder,
    const TargetState& target, const BankPlaces& places, ConversionProgress& progress)
    : m_options(options)
    , m_files(files)
    , m_shards(shards)
    , m_plan(plan)
    , m_sideFiles(sideFiles)
    , m_folder(folder)
    , m_target(target)
    , m_places(places)
    , m_store(folder, plan, target.published)
    , m_trunk(files, plan, folder, target.published)
    , m_reclaimer(options, files, plan, folder, shards, progress, [this](const std::string& what) { warn(what); })
    , m_progress(progress)
    , m_pool({.threadCount = options.threadCount != 0 ? options.threadCount : physicalCoreCount()})
{
    if (plan.quant.bitsPerWeight() < 3)
        warn("experts at 2 bits lose a third of every weight; the answers will be poor");
}

void Conversion::warn(const std::string& sentence)
{
    m_report.warnings.push_back(sentence);
    if (m_options.log)
        m_options.log(LogLevel::Warning, sentence);
}

Status Conversion::findFinishedWork()
{
    WASTE_TRY(std::uint64_t foundBytes, m_trunk.find());
    std::vector<const BankEntry*> found;
    for (const BankEntry& bank : m_plan.banks) {
        WASTE_TRY_STATUS(removeBank(m_store.bankPath(bank))); // the one that was in work needs room again
        WASTE_TRY(LayerStore::Remains remains, m_store.find(bank));
        if (!remains.damage.empty())
            warnOfDamage(bank, remains.damage);
        if (!remains.layer)
            continue;
        m_layers.emplace(bank.layer, std::move(*remains.layer));
        found.push_back(&bank);
        foundBytes += bank.bytes;
    }
    if (foundBytes > 0)
        m_progress.begin("checking", foundBytes);
    WASTE_TRY_STATUS(checkFinishedTrunk());
    for (const BankEntry* bank : found)
        WASTE_TRY_STATUS(checkFinishedBank(*bank));
    announce();
    return {};
}

Status Conversion::checkFinishedTrunk()
{
    WASTE_TRY(const std::string damage, m_trunk.check(m_progress));
    if (!damage.empty())
        warn("parts of the trunk are converted again, what was kept of it is damaged: " + damage);
    return {};
}

// A bank that is not whole makes its layer one that must be converted.
Status Conversion::checkFinishedBank(const BankEntry& bank)
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
    if (const std::string sentence = brokenLink(m_store.finishedPath(bank)); !sentence.empty())
        return Error{ErrorCode::Io, "io", sentence + ", or delete the link to have the layer converted again"};
    if (sound.error().code != ErrorCode::Corrupt && sound.error().code != ErrorCode::NotFound)
        return sound.error();
    m_progress.advance(bank.bytes - checkedBytes);
    m_layers.erase(bank.layer);
    if (sound.error().code == ErrorCode::Corrupt)
        warnOfDamage(bank, sound.error().message);
    return {};
}

void Conversion::warnOfDamage(const BankEntry& bank, const std::string& damage)
{
    warn("layer " + std::to_string(bank.layer) + " is converted again, what was kept of it is damaged: " + damage);
}

void Conversion::announce()
{
    ConvertPlan announced;
    announced.settings = settingsOfRecipe(m_plan.recipe);
    announced.containerBytes = m_plan.containerBytes();
    announced.trunkBytes = m_plan.trunkBytes();
    announced.trunkBytesKept = m_trunk.finishedBytes();
    announced.memoryBytes = conversionMemoryBytes(ConversionSizes::of(m_files, m_plan, m_pool.threadCount()));
    announced.expertBytes = m_plan.bankBytes();
    announced.expertCount = std::uint64_t{m_plan.config.expertCount} * m_plan.banks.size();
    for (const BankEntry& bank : m_plan.banks)
        (m_layers.contains(bank.layer) ? announced.layersKept : announced.layers).push_back(bank.layer);
    m_report.layersKept = static_cast<std::uint32_t>(announced.layersKept.size());
    m_progress.report(announced);
}

Status Conversion::checkSource() const
{
    for (std::size_t i = 0; i < m_plan.trunk.size(); ++i) {
        if (!m_trunk.isFinished(i))
            WASTE_TRY_STATUS(checkNotReclaimed(*m_plan.trunk[i].source));
    }
    for (const BankEntry& bank : m_plan.banks) {
        if (m_layers.contains(bank.layer))
            continue;
        for (const CheckpointTensor* tensor : expertTensors(m_files, m_plan, bank))
            WASTE_TRY_STATUS(checkNotReclaimed(*tensor));
    }
    return {};
}

Status Conversion::checkNotReclaimed(const CheckpointTensor& tensor) const
{
    const std::vector<std::string> shards = m_files.shardNames();
    for (const std::uint32_t shard : {tensor.values.shard, tensor.scales.shard}) {
        const bool isOfTensor = shard == tensor.values.shard || tensor.coding == CheckpointTensor::Coding::Mxfp4;
        if (isOfTensor && m_shards.isReclaimed(shards[shard]))
            return Error{ErrorCode::NotFound, "reclaimed",
                "tensor \"" + tensor.name + "\" is to be converted (again), but "
                    + textFromPath(m_options.source / pathFromText(shards[shard]))
                    + " was deleted after it had been converted. Download the model again into an empty folder and "
                      "convert that"};
    }
    return {};
}

Status Conversion::checkSpace() const
{
    struct Volume {
        std::filesystem::path folder; // on it
        std::uint64_t bytes = 0;
        std::vector<const BankEntry*> banks;
    };
    std::vector<Volume> volumes = {
        {m_folder.target(), m_plan.codebooksBytes() + m_plan.trunkFileBytes - m_trunk.finishedBytes(), {}}};
    for (const BankEntry& bank : m_plan.banks) {
        if (m_layers.contains(bank.layer))
            continue;
        const std::filesystem::path& folder = m_places.folderOf(indexOf(bank));
        auto volume = std::ranges::find_if(
            volumes, [&folder](const Volume& known) { return isSameVolume(known.folder, folder); });
        if (volume == volumes.end())
            volume = volumes.insert(volumes.end(), {folder, 0, {}});
        volume->banks.push_back(&bank);
    }
    for (const Volume& volume : volumes) {
        std::uint64_t bytes = volume.bytes;
        if (m_options.reclaim == Reclaim::On && isSameVolume(m_options.source, volume.folder)) {
            bytes = m_reclaimer.peakBytes(bytes, volume.banks, m_layers);
        } else {
            for (const BankEntry* bank : volume.banks)
                bytes += bank->bytes;
        }
        WASTE_TRY(const std::uint64_t reserve, reserveBytes(volume.folder));
        bytes += bytes / 100 + (bytes > 0 ? reserve : 0);
        WASTE_TRY(const std::uint64_t available, freeSpaceBytes(volume.folder));
        if (available < bytes)
            return Error{ErrorCode::NoSpace, "no_space",
                textFromPath(volume.folder) + " needs " + sizeText(bytes) + " of free space, of which "
                    + sizeText(reserve) + " stay free for others on this drive; free another "
                    + sizeText(bytes - available) + " and start the conversion again, it goes on where it stopped"};
    }
    return {};
}

Result<std::uint64_t> Conversion::reserveBytes(const std::filesystem::path& folder) const
{
    WASTE_TRY(const std::uint64_t bytes, spaceReserveBytes(folder));
    return std::min(bytes, m_plan.containerBytes());
}

// The trunk first: nearly every shard holds a part of it, so that shards are done with when their layers are.
Status Conversion::convertWeights()
{
    WASTE_TRY_STATUS(m_reclaimer.begin());
    std::uint64_t keptBytes = 0;
    for (const BankEntry& bank : m_plan.banks)
        keptBytes += m_layers.contains(bank.layer) ? bank.bytes : 0;
    m_progress.begin("trunk", m_plan.trunkBytes(), m_trunk.finishedBytes());
    m_progress.begin("experts", m_plan.bankBytes(), keptBytes);
    for (;;) {
        WASTE_TRY_STATUS(m_reclaimer.release(m_layers, m_trunk));
        if (const std::vector<std::size_t> tensors = nextTensors(); !tensors.empty())
            WASTE_TRY_STATUS(convertTensors(tensors));
        else if (const BankEntry* bank = nextBank())
            WASTE_TRY_STATUS(convertLayer(*bank));
        else if (m_trunk.isComplete() && m_layers.size() == m_plan.banks.size())
            return {};
        else
            WASTE_TRY_STATUS(m_shards.waitForShard(m_files, m_progress));
    }
}

Status Conversion::convertTensors(const std::vector<std::size_t>& tensors)
{
    m_progress.begin("trunk", m_plan.trunkBytes());
    std::uint64_t bytes = 0;
    for (const std::size_t tensor : tensors)
        bytes += m_plan.trunk[tensor].entry.layout.bytes();
    WASTE_TRY(const std::uint64_t reserve, reserveBytes(m_folder.target()));
    WASTE_TRY_STATUS(waitForRoom(m_folder.target(), bytes + reserve, m_progress));
    WASTE_TRY_STATUS(m_trunk.convert(tensors, m_pool, m_progress));
    // Verified shards that came in the meantime may hold more of it.
    return m_options.follow ? m_shards.openArrived(m_files) : Status();
}

// Tensors of one shard, as many as make a unit of work; none: there are none that can be read.
std::vector<std::size_t> Conversion::nextTensors() const
{
    std::vector<std::size_t> tensors;
    std::uint32_t shard = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < m_plan.trunk.size() && bytes < kTrunkUnitBytes; ++i) {
        const TrunkItem& item = m_plan.trunk[i];
        if (m_trunk.isFinished(i) || !m_files.canRead(*item.source)
            || (!tensors.empty() && item.source->values.shard != shard))
            continue;
        shard = item.source->values.shard;
        tensors.push_back(i);
        bytes += item.entry.layout.bytes();
    }
    return tensors;
}

const BankEntry* Conversion::nextBank() const
{
    const auto bank = std::ranges::find_if(m_plan.banks, [this](const BankEntry& entry) {
        return !m_layers.contains(entry.layer) && canReadExperts(m_files, m_plan, entry);
    });
    return bank != m_plan.banks.end() ? &*bank : nullptr;
}

std::size_t Conversion::indexOf(const BankEntry& bank) const
{
    return static_cast<std::size_t>(&bank - m_plan.banks.data());
}

Status Conversion::convertLayer(const BankEntry& bank)
{
    const std::filesystem::path& place = m_places.folderOf(indexOf(bank));
    m_progress.begin("experts", m_plan.bankBytes());
    WASTE_TRY(const std::uint64_t reserve, reserveBytes(place));
    WASTE_TRY_STATUS(waitForRoom(place, bank.bytes + reserve, m_progress));
    const Clock::time_point start = Clock::now();
    m_progress.report(ConvertLayerStart{bank.layer});
    FinishedLayer layer;
    const std::uint64_t before = m_progress.done();
    const auto make = [&]() -> Status {
        m_progress.goBackTo(before);
        Status made = makeBank(bank, layer);
        if (!made && made.error().code == ErrorCode::NoSpace)
            WASTE_TRY_STATUS(removeBank(m_store.bankPath(bank))); // it would be in its own way
        return made;
    };
    WASTE_TRY_STATUS(writePatiently(place, bank.bytes, m_progress, make));
    WASTE_TRY_STATUS(m_store.keep(bank, layer));
    ++m_report.layersConverted;
    m_progress.report(ConvertLayerDone{bank.layer, bank.bytes, layer.errors, secondsSince(start)});
    m_layers.emplace(bank.layer, std::move(layer));
    return m_options.follow ? m_shards.openArrived(m_files) : Status();
}

Status Conversion::makeBank(const BankEntry& bank, FinishedLayer& layer)
{
    const std::filesystem::path path = m_store.bankPath(bank);
    WASTE_TRY_STATUS(m_places.prepare(indexOf(bank), path, m_store.finishedPath(bank)));
    WASTE_TRY(OutputFile file, OutputFile::open(path, OutputFile::Mode::Replace));
    WASTE_TRY(layer, writeBank(m_files, m_plan, bank, file, m_pool, m_progress));
    WASTE_TRY_STATUS(file.flush());
    WASTE_TRY_STATUS(file.close());
    WASTE_TRY_STATUS(m_places.flush(path));
    const auto checked = [this](std::uint64_t) { return m_progress.checkCancelled(); };
    auto digest = checkBank(path, m_plan, bank, checked);
    if (!digest && digest.error().code == ErrorCode::Corrupt)
        return Error{
            ErrorCode::Io, "io", digest.error().message + " when it is read back; the drive or the memory is faulty"};
    if (!digest)
        return digest.error();
    m_integrity[bank.file] = std::move(*digest);
    return {};
}

Status Conversion::writeCodebooks()
{
    std::vector<std::byte> codebooks;
    for (const auto& [number, layer] : m_layers)
        codebooks.insert(codebooks.end(), layer.codebooks.begin(), layer.codebooks.end());
    assert(codebooks.size() == m_plan.codebooksBytes());
    m_codebooksCrc32 = crc32(codebooks);
    return m_folder.writeTarget(kCodebooksFile, codebooks);
}

Status Conversion::writeSideFiles()
{
    for (const SideFile& file : m_sideFiles)
        WASTE_TRY_STATUS(writeSideFile(file, m_folder));
    return {};
}

Status Conversion::publish()
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
        .trunk = m_trunk.entries(),
        .desktop = std::move(desktop)});
    // Our own reader has the last word on what others will have to read.
    WASTE_TRY_STATUS(Manifest::parse(manifest));
    WASTE_TRY_STATUS(m_folder.write(kManifestFile, manifest));
    WASTE_TRY_STATUS(writeIntegrity());
    return commitContainer(m_folder);
}

// Published before the manifest, so that there is no container without it. What it states is read back from the
// device, where all files are by now.
Status Conversion::writeIntegrity()
{
    const auto digest = [this](const std::filesystem::path& path, std::string_view name) -> Status {
        const auto read = [this](std::uint64_t) { return m_progress.checkCancelled(); };
        WASTE_TRY(m_integrity[std::string(name)], digestFile(path, FileDigester(), read));
        return {};
    };
    WASTE_TRY_STATUS(digest(m_folder.path(kManifestFile), kManifestFile));
    WASTE_TRY_STATUS(digest(m_trunk.path(), kTrunkFile));
    WASTE_TRY_STATUS(digest(m_folder.target() / kCodebooksFile, kCodebooksFile));
    for (const SideFile& file : m_sideFiles)
        WASTE_TRY_STATUS(digest(m_folder.target() / file.name, file.name));
    const std::string text = composeIntegrity(m_integrity);
    return m_folder.writeTarget(kIntegrityFile, std::as_bytes(std::span(text)));
}

ConvertReport Conversion::report(double seconds)
{
    m_report.containerBytes = m_plan.containerBytes();
    const auto count = static_cast<double>(std::max<std::size_t>(1, m_layers.size()));
    for (const auto& [number, layer] : m_layers) {
        m_report.errors.gate += layer.errors.gate / count;
        m_report.errors.up += layer.errors.up / count;
        m_report.errors.down += layer.errors.down / count;
    }
    m_report.trunkError = m_trunk.quantised().relative();
    m_report.seconds = seconds;
    m_progress.report(m_report);
    return m_report;
}

} // namespace waste
