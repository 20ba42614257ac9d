#include "convert/trunk_store.h"

#include "base/checked.h"
#include "checkpoint/json_file.h"
#include "container/format.h"
#include "convert/space_wait.h"
#include "kernels/checksum.h"
#include "platform/direct_file.h"
#include "platform/output_file.h"
#include "platform/pages.h"
#include "platform/path_text.h"
#include "platform/small_file.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace waste {
namespace {

constexpr std::string_view kJournalFile = "trunk.journal";
constexpr std::uint64_t kJournalBytesMax = std::uint64_t{64} << 20;
constexpr std::uint64_t kBlockBytes = std::uint64_t{4} << 20;

// Reads `bytes` from a page boundary on and continues the checksum.
Status addChecksum(const DirectFile& file, std::uint64_t offset, std::uint64_t bytes, std::span<std::byte> block,
    std::uint32_t& crc, const ConversionProgress& progress)
{
    assert(offset % kPageBytes == 0 && block.size() % kPageBytes == 0);
    while (bytes > 0) {
        WASTE_TRY_STATUS(progress.checkCancelled());
        const std::uint64_t part = std::min<std::uint64_t>(bytes, block.size());
        WASTE_TRY_STATUS(file.readAtLeast(offset, block.first(roundUp(part, kPageBytes)), part));
        crc = kernels::crc32(block.first(part), crc);
        offset += part;
        bytes -= part;
    }
    return {};
}

// Whether a tensor lies in the file with this checksum: read past the page cache, so from the device.
Result<bool> isSound(
    const DirectFile& file, const TrunkEntry& entry, std::uint32_t crc32, const ConversionProgress& progress)
{
    const std::uint64_t bytesMax = std::max(entry.layout.payloadBytes, entry.layout.scaleBytes);
    WASTE_TRY(const Pages pages, Pages::allocate(std::min(kBlockBytes, roundUp(bytesMax, kPageBytes)), "the trunk"));
    const auto block = pages.bytes().first(std::min(kBlockBytes, roundUp(bytesMax, kPageBytes)));
    std::uint32_t actual = 0;
    Status read = addChecksum(file, entry.offset, entry.layout.payloadBytes, block, actual, progress);
    if (read)
        read = addChecksum(file, entry.scaleOffset, entry.layout.scaleBytes, block, actual, progress);
    if (!read && read.error().code != ErrorCode::Corrupt)
        return read.error();
    return read && actual == crc32;
}

std::string journalLine(const std::string& tensor, const WrittenTensor& written)
{
    const nlohmann::json line = {{"tensor", tensor}, {"crc32", written.crc32}, {"difference", written.error.difference},
        {"norm", written.error.norm}};
    return line.dump() + "\n";
}

// Empty: not a line of ours, the conversion died while it was written.
std::optional<std::pair<std::string, WrittenTensor>> parseLine(std::string_view text)
{
    const auto line = parseJsonObject(text, kJournalFile);
    if (!line)
        return std::nullopt;
    const auto tensor = line->find("tensor");
    const auto crc32 = line->find("crc32");
    const auto difference = line->find("difference");
    const auto norm = line->find("norm");
    if (tensor == line->end() || !tensor->is_string() || crc32 == line->end() || !crc32->is_number_unsigned()
        || difference == line->end() || !difference->is_number() || norm == line->end() || !norm->is_number())
        return std::nullopt;
    WrittenTensor written;
    written.crc32 = static_cast<std::uint32_t>(crc32->get<std::uint64_t>());
    written.error = {difference->get<double>(), norm->get<double>()};
    return std::pair(tensor->get<std::string>(), written);
}

} // namespace

TrunkStore::TrunkStore(const CheckpointFiles& files, const ConversionPlan& plan, const WorkFolder& folder,
    const std::optional<Manifest>& published)
    : m_files(files)
    , m_plan(plan)
    , m_folder(folder)
    , m_published(published)
    , m_finished(plan.trunk.size())
{
}

Result<std::uint64_t> TrunkStore::find()
{
    WASTE_TRY(const bool hasFile, isThere(path()));
    if (hasFile)
        WASTE_TRY_STATUS(readJournal());
    if (finishedBytes() > 0)
        return finishedBytes();
    // What belongs to nothing would show through the gaps between tensors.
    WASTE_TRY_STATUS(removeFile(m_folder.path(kJournalFile)));
    WASTE_TRY_STATUS(removeFile(path()));
    takePublished();
    return finishedBytes();
}

Status TrunkStore::readJournal()
{
    const std::filesystem::path path = m_folder.path(kJournalFile);
    const auto text = readSmallFile(path, kJournalBytesMax);
    if (!text && text.error().code == ErrorCode::NotFound)
        return {};
    if (!text)
        return text.error();
    std::map<std::string_view, std::size_t> items;
    for (std::size_t i = 0; i < m_plan.trunk.size(); ++i)
        items.emplace(m_plan.trunk[i].entry.name, i);
    std::size_t end = 0; // of the last whole line
    for (std::size_t start = 0; start < text->size(); start = end) {
        const std::size_t feed = text->find('\n', start);
        const auto line =
            feed != std::string::npos ? parseLine(std::string_view(*text).substr(start, feed - start)) : std::nullopt;
        if (!line)
            break;
        if (const auto item = items.find(line->first); item != items.end())
            m_finished[item->second] = line->second;
        end = feed + 1;
    }
    if (end == text->size())
        return {};
    // A torn line would spoil the one that is appended to it.
    WASTE_TRY(OutputFile file, OutputFile::open(path, OutputFile::Mode::Update));
    WASTE_TRY_STATUS(file.resize(end));
    WASTE_TRY_STATUS(file.flush());
    return file.close();
}

// All of it or nothing: a container's trunk is replaced as a whole.
void TrunkStore::takePublished()
{
    if (!m_published || m_published->trunk.size() != m_plan.trunk.size())
        return;
    std::vector<std::optional<WrittenTensor>> finished(m_plan.trunk.size());
    for (std::size_t i = 0; i < m_plan.trunk.size(); ++i) {
        const TrunkEntry& planned = m_plan.trunk[i].entry;
        const TrunkEntry& entry = m_published->trunk[i]; // both ascending by name
        if (entry.name != planned.name || entry.offset != planned.offset || entry.scaleOffset != planned.scaleOffset
            || entry.format != planned.format || entry.shape != planned.shape || !entry.crc32)
            return;
        finished[i] = WrittenTensor{*entry.crc32, {}};
    }
    m_finished = std::move(finished);
    m_isPublished = true;
}

Result<std::string> TrunkStore::check(ConversionProgress& progress)
{
    if (finishedBytes() == 0)
        return std::string();
    std::string damage;
    const auto file = DirectFile::open(path(), DirectFile::Access::Direct);
    if (!file && file.error().code != ErrorCode::NotFound)
        return file.error();
    for (std::size_t i = 0; i < m_finished.size(); ++i) {
        if (!m_finished[i])
            continue;
        bool isGood = false;
        if (file) {
            WASTE_TRY(isGood, isSound(*file, m_plan.trunk[i].entry, m_finished[i]->crc32, progress));
        }
        progress.advance(m_plan.trunk[i].entry.layout.bytes());
        if (isGood)
            continue;
        if (damage.empty())
            damage = textFromPath(path()) + ": tensor " + m_plan.trunk[i].entry.name + " is not what was written";
        m_finished[i].reset();
    }
    if (m_isPublished && !damage.empty()) {
        std::ranges::fill(m_finished, std::nullopt);
        m_isPublished = false;
    }
    return damage;
}

bool TrunkStore::isComplete() const
{
    return std::ranges::all_of(m_finished, [](const auto& tensor) { return tensor.has_value(); });
}

std::uint64_t TrunkStore::finishedBytes() const
{
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < m_finished.size(); ++i)
        bytes += m_finished[i] ? m_plan.trunk[i].entry.layout.bytes() : 0;
    return bytes;
}

std::filesystem::path TrunkStore::path() const
{
    return m_isPublished ? m_folder.target() / kTrunkFile : m_folder.path(kTrunkFile);
}

Status TrunkStore::convert(std::span<const std::size_t> items, ThreadPool& pool, ConversionProgress& progress)
{
    std::uint64_t bytes = 0;
    for (const std::size_t item : items)
        bytes += m_plan.trunk[item].entry.layout.bytes();
    const std::uint64_t before = progress.done();
    return writePatiently(m_folder.target(), bytes, progress, [&] {
        progress.goBackTo(before);
        return convertOnce(items, pool, progress);
    });
}

Status TrunkStore::convertOnce(std::span<const std::size_t> items, ThreadPool& pool, ConversionProgress& progress)
{
    std::vector<WrittenTensor> written;
    {
        WASTE_TRY(OutputFile file, OutputFile::open(m_folder.path(kTrunkFile), OutputFile::Mode::Update));
        for (const std::size_t item : items) {
            WASTE_TRY(WrittenTensor tensor, writeTensor(m_files, m_plan.trunk[item], file, pool, progress));
            written.push_back(tensor);
        }
        WASTE_TRY_STATUS(file.flush());
        WASTE_TRY_STATUS(file.close());
    }
    WASTE_TRY(const DirectFile file, DirectFile::open(path(), DirectFile::Access::Direct));
    for (std::size_t i = 0; i < items.size(); ++i) {
        const TrunkEntry& entry = m_plan.trunk[items[i]].entry;
        WASTE_TRY(const bool isGood, isSound(file, entry, written[i].crc32, progress));
        if (!isGood)
            return Error{ErrorCode::Io, "io",
                textFromPath(path()) + " at offset " + std::to_string(entry.offset) + ": tensor " + entry.name
                    + " reads back otherwise than it was written; the drive or the memory is faulty"};
    }
    WASTE_TRY_STATUS(appendToJournal(items, written));
    for (std::size_t i = 0; i < items.size(); ++i)
        m_finished[items[i]] = written[i];
    return {};
}

Status TrunkStore::appendToJournal(std::span<const std::size_t> items, std::span<const WrittenTensor> written)
{
    std::string lines;
    for (std::size_t i = 0; i < items.size(); ++i)
        lines += journalLine(m_plan.trunk[items[i]].entry.name, written[i]);
    WASTE_TRY(OutputFile file, OutputFile::open(m_folder.path(kJournalFile), OutputFile::Mode::Update));
    const std::uint64_t sizeBefore = file.sizeBytes();
    Status status = file.append(lines);
    if (status)
        status = file.flush();
    if (!status) {
        // The first error is the one to report; a line that cannot even be cut is cut by the next run.
        [[maybe_unused]] const Status cut = file.resize(sizeBefore);
        return status;
    }
    return file.close();
}

std::vector<TrunkEntry> TrunkStore::entries() const
{
    assert(isComplete());
    std::vector<TrunkEntry> entries;
    for (std::size_t i = 0; i < m_finished.size(); ++i) {
        entries.push_back(m_plan.trunk[i].entry);
        entries.back().crc32 = m_finished[i]->crc32;
    }
    return entries;
}

SquaredError TrunkStore::quantised() const
{
    SquaredError sum;
    for (std::size_t i = 0; i < m_finished.size(); ++i) {
        if (m_finished[i] && m_plan.trunk[i].entry.format != kernels::WeightFormat::F32)
            sum += m_finished[i]->error;
    }
    return sum;
}

} // namespace waste
