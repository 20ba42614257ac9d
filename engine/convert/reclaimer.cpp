#include "convert/reclaimer.h"

#include "checkpoint/tensor_names.h"
#include "convert/probe.h"
#include "convert/source_reader.h"
#include "platform/file_error.h"
#include "platform/output_file.h"
#include "platform/path_text.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace waste {
namespace {

constexpr std::string_view kProofFile = "probe.json";

// The bounds of conversion 4; two bits lose a third.
constexpr double kErrorMax = 0.30;
constexpr double kTwoBitErrorMax = 0.5;

bool isInside(const std::filesystem::path& inner, const std::filesystem::path& outer)
{
    const auto [end, ignored] = std::ranges::mismatch(outer, inner);
    return end == outer.end();
}

Error refuse(const std::string& what)
{
    return {ErrorCode::InvalidArgument, "", what};
}

} // namespace

Reclaimer::Reclaimer(const ConvertOptions& options, CheckpointFiles& files, const ConversionPlan& plan,
    const WorkFolder& folder, SourceShards& shards, const ConversionProgress& progress,
    std::function<void(const std::string&)> warn)
    : m_options(options)
    , m_files(files)
    , m_plan(plan)
    , m_folder(folder)
    , m_shards(shards)
    , m_progress(progress)
    , m_warn(std::move(warn))
    , m_names(files.shardNames())
    , m_consumers(m_names.size())
{
    if (options.reclaim != Reclaim::Off)
        findConsumers();
}

void Reclaimer::findConsumers()
{
    const auto add = [this](const CheckpointTensor& tensor, const auto& addTo) {
        addTo(m_consumers[tensor.values.shard]);
        if (tensor.coding == CheckpointTensor::Coding::Mxfp4)
            addTo(m_consumers[tensor.scales.shard]);
    };
    for (const CheckpointTensor& tensor : m_files.tensors()) {
        if (const auto name = parseExpertTensorName(tensor.name, m_plan.config.tensorPrefix))
            add(tensor, [&](Consumers& consumers) { consumers.layers.insert(name->layer); });
    }
    for (std::size_t i = 0; i < m_plan.trunk.size(); ++i)
        add(*m_plan.trunk[i].source, [i](Consumers& consumers) { consumers.tensors.insert(i); });
}

Status Reclaimer::checkPlaces(const ConvertOptions& options, SourceShards& shards)
{
    if (options.reclaim == Reclaim::Off)
        return {};
    std::error_code error;
    const auto source = std::filesystem::canonical(options.source, error);
    if (error)
        return fileError("find", options.source, error);
    const auto target = std::filesystem::weakly_canonical(options.target, error);
    if (error)
        return fileError("find", options.target, error);
    if (isInside(target, source))
        return refuse(textFromPath(options.target)
            + " lies inside of the source, whose shards are to be deleted; choose "
              "another folder for the container");
    for (const auto& part : source) {
        if (part == "snapshots" || part == "blobs")
            return refuse(textFromPath(options.source)
                + " looks like the cache of another program; its files are not ours to delete. Convert without "
                  "--reclaim");
    }
    if (options.reclaim == Reclaim::On && !shards.download().isDownload() && !options.canDownloadAgain)
        return refuse(textFromPath(options.source)
            + " was not downloaded by this program, so nothing proves that it can be had again; add "
              "--i-can-download-again to delete its shards all the same");
    return {};
}

Status Reclaimer::begin()
{
    if (m_options.reclaim != Reclaim::On)
        return {};
    const std::filesystem::path ledgerFolder = m_options.source / DownloadFolder::kName;
    std::error_code error;
    std::filesystem::create_directories(ledgerFolder, error);
    if (error)
        return fileError("create", ledgerFolder, error);
    if (!m_options.follow) { // else the downloader has it, and leaves to us what it has verified
        WASTE_TRY(m_lock, FileLock::acquire(ledgerFolder / "lock"));
    }
    WASTE_TRY_STATUS(m_shards.keepHeaders(m_folder, m_progress));
    for (std::uint32_t shard = 0; shard < m_names.size(); ++shard) {
        const std::filesystem::path path = m_options.source / pathFromText(m_names[shard]);
        WASTE_TRY(const bool isFile, isThere(path));
        // Announced by an earlier run, which then died.
        if (isFile && m_shards.isReclaimed(m_names[shard])) {
            WASTE_TRY_STATUS(removeFile(path));
            WASTE_TRY_STATUS(flushDirectory(m_options.source));
        }
    }
    return {};
}

Status Reclaimer::release(const FinishedLayers& layers, const TrunkStore& trunk)
{
    if (m_options.reclaim == Reclaim::Off)
        return {};
    for (std::uint32_t shard = 0; shard < m_names.size(); ++shard) {
        if (!m_files.isShardOpen(shard))
            continue;
        if (!m_facts.contains(shard)) {
            WASTE_TRY(const FileFacts facts, fileFacts(m_options.source / pathFromText(m_names[shard])));
            m_facts.emplace(shard, facts);
        }
    }
    for (std::uint32_t shard = 0; shard < m_names.size(); ++shard) {
        if (!m_files.isShardOpen(shard) || m_done.contains(shard) || !isFree(shard, layers, trunk))
            continue;
        WASTE_TRY(const bool proven, isProven(layers));
        if (!proven)
            return {};
        WASTE_TRY_STATUS(reclaim(shard));
    }
    return {};
}

bool Reclaimer::isFree(std::uint32_t shard, const FinishedLayers& layers, const TrunkStore& trunk) const
{
    const Consumers& consumers = m_consumers[shard];
    return std::ranges::all_of(consumers.layers, [&](std::uint32_t layer) { return layers.contains(layer); })
        && std::ranges::all_of(consumers.tensors, [&](std::size_t item) { return trunk.isFinished(item); });
}

// Whether the first layer was compared with its source, by this run or by an earlier one of this recipe.
Result<bool> Reclaimer::isProven(const FinishedLayers& layers)
{
    if (m_plan.banks.empty() || m_options.reclaim == Reclaim::Dry)
        return true;
    const BankEntry& bank = m_plan.banks.front();
    const auto layer = layers.find(bank.layer);
    if (layer == layers.end())
        return false;
    WASTE_TRY(const bool hasProof, isThere(m_folder.path(kProofFile)));
    if (hasProof) // the work folder belongs to one recipe
        return true;
    if (!canReadExperts(m_files, m_plan, bank)) { // the proof went with the work folder when the container was complete
        if (!std::exchange(m_toldOfNoProof, true))
            m_warn("no more shards are deleted: layer " + std::to_string(bank.layer)
                + " cannot be compared with its source again, which is gone. What is left of the source can be "
                  "deleted by hand once `waste verify` finds no damage");
        return false;
    }
    WASTE_TRY(const double error,
        probeBank(m_files, m_plan, bank, layer->second, m_folder.target() / pathFromText(bank.file), m_progress));
    const double errorMax = m_plan.quant.bitsPerWeight() >= 3 ? kErrorMax : kTwoBitErrorMax;
    if (!(error <= errorMax))
        return Error{ErrorCode::Corrupt, "",
            "layer " + std::to_string(bank.layer) + " was read back with an error of " + std::to_string(100 * error)
                + " %, so nothing of the source is deleted; convert without --reclaim and look at `waste verify`"};
    WASTE_TRY_STATUS(m_folder.write(
        kProofFile, "{\"layer\":" + std::to_string(bank.layer) + ",\"error\":" + std::to_string(error) + "}\n"));
    return true;
}

// What was verified and read must be what is deleted: the same file, reached by no other name.
bool Reclaimer::isUnchanged(std::uint32_t shard) const
{
    const auto now = fileFacts(m_options.source / pathFromText(m_names[shard]));
    const FileFacts& then = m_facts.at(shard);
    return now && now->isRegular && now->linkCount == 1 && now->bytes == then.bytes
        && now->modifiedNs == then.modifiedNs && m_shards.isHere(m_names[shard]);
}

Status Reclaimer::reclaim(std::uint32_t shard)
{
    const std::string& name = m_names[shard];
    const std::filesystem::path path = m_options.source / pathFromText(name);
    const std::uint64_t bytes = m_facts.at(shard).bytes;
    m_done.insert(shard);
    if (m_options.reclaim == Reclaim::Dry) {
        m_freedBytes += bytes;
        m_progress.report(ConvertReclaimed{name, bytes, m_freedBytes, false});
        return {};
    }
    if (!isUnchanged(shard)) {
        m_warn(textFromPath(path) + " is kept: it was changed, or has another name or a link to it");
        return {};
    }
    WASTE_TRY_STATUS(m_shards.download().recordReclaimed(name, bytes));
    m_files.closeShard(shard); // an open file keeps its room
    if (const Status removed = removeFile(path); !removed) {
        m_warn(removed.error().message + "; it is tried again by the next run");
        return {};
    }
    WASTE_TRY_STATUS(flushDirectory(m_options.source));
    m_freedBytes += bytes;
    m_progress.report(ConvertReclaimed{name, bytes, m_freedBytes, true});
    return {};
}

std::uint64_t Reclaimer::peakBytes(
    std::uint64_t bytes, std::span<const BankEntry* const> banks, const FinishedLayers& layers) const
{
    std::uint64_t peak = bytes;
    std::uint64_t freed = 0;
    std::set<std::uint32_t> finished;
    for (const auto& [layer, content] : layers)
        finished.insert(layer);
    std::set<std::uint32_t> gone;
    for (const BankEntry& bank : m_plan.banks) { // those on other volumes as well: shards go with them
        finished.insert(bank.layer);
        bytes += std::ranges::find(banks, &bank) != banks.end() ? bank.bytes : 0;
        peak = std::max(peak, bytes - std::min(bytes, freed));
        for (std::uint32_t shard = 0; shard < m_names.size(); ++shard) {
            const auto isFinished = [&](std::uint32_t layer) { return finished.contains(layer); };
            if (m_files.isShardOpen(shard) && std::ranges::all_of(m_consumers[shard].layers, isFinished)
                && gone.insert(shard).second)
                freed += m_files.shardBytes(shard);
        }
    }
    return peak;
}

} // namespace waste
