#include "host/picture_rows.h"

#include "host/data_url.h"
#include "waste/files.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace waste::host {

namespace {

constexpr std::size_t kPicturesWithRowsMax = 32; // as many as the memory plan counts
constexpr TokenId kFirstNumber = -2; // −1 means "no token" elsewhere

std::size_t indexOf(TokenId number)
{
    return static_cast<std::size_t>(kFirstNumber - number);
}

Result<std::string> readPicture(const AttachedPicture& picture)
{
    auto file = readFile(picture.file, kPictureBytesMax);
    if (!file && file.error().code == ErrorCode::NotFound) {
        return Error{ErrorCode::NotFound, "missing_attachment",
            "the picture " + picture.name + " is no longer among the attachments of this conversation"};
    }
    return file;
}

} // namespace

PictureRows::PictureRows(Engine& engine, ReadingPace& pace)
    : m_engine(engine)
    , m_pace(pace)
    , m_tower(engine.visionFingerprint())
{
}

Result<PictureRows::Shown> PictureRows::show(const AttachedPicture& picture)
{
    WASTE_TRY(const std::string file, readPicture(picture));
    Shown shown;
    WASTE_TRY(shown.picture,
        Picture::inspect(m_engine.container(), std::as_bytes(std::span(file)), picture.name, picture.detail));
    const RowsKey key{sha256Text(file), picture.detail == PictureDetail::Half, m_tower};
    auto known = std::find_if(m_entries.begin(), m_entries.end(), [&](const Entry& entry) { return entry.key == key; });
    if (known == m_entries.end())
        known = m_entries.insert(known, Entry{key, picture, shown.picture, {}});
    known->source = picture;
    shown.number = kFirstNumber - static_cast<TokenId>(known - m_entries.begin());
    return shown;
}

Result<PictureRows::Input> PictureRows::translate(
    std::span<const TokenId> before, std::span<const TokenId> ids, const CancelFlag& cancel, const Progress& progress)
{
    Input input;
    input.ids.assign(ids.begin(), ids.end());
    const std::size_t rowFloats = m_engine.container().info().hiddenSize;
    for (std::size_t i = 0; i < ids.size();) {
        const TokenId number = ids[i];
        if (number > kFirstNumber) {
            ++i;
            continue;
        }
        std::size_t skipped = 0; // positions of this picture that were read before
        if (i == 0)
            skipped = static_cast<std::size_t>(std::find_if(before.rbegin(), before.rend(), [=](TokenId id) {
                return id != number;
            }) - before.rbegin());
        WASTE_TRY(const auto rows, rowsOf(indexOf(number), cancel, progress));
        std::size_t end = i;
        for (; end < ids.size() && ids[end] == number; ++end)
            input.ids[end] = placeholderId();
        const auto needed = rows.subspan(skipped * rowFloats, (end - i) * rowFloats);
        input.rows.insert(input.rows.end(), needed.begin(), needed.end());
        i = end;
    }
    return input;
}

Result<std::span<const float>> PictureRows::rowsOf(
    std::size_t index, const CancelFlag& cancel, const Progress& progress)
{
    assert(index < m_entries.size());
    Entry& entry = m_entries[index];
    if (entry.rows.empty()) {
        const std::uint64_t floatCount =
            std::uint64_t{entry.picture.positionCount} * m_engine.container().info().hiddenSize;
        const bool isKept = !m_tower.empty() && !entry.source.rowsFile.empty();
        auto kept = isKept ? loadRows(entry.source.rowsFile, entry.key, floatCount)
                           : Result<std::vector<float>>(Error{ErrorCode::NotFound, "", ""});
        if (kept) {
            entry.rows = std::move(*kept);
        } else {
            WASTE_TRY(entry.rows, look(entry, cancel, progress));
            assert(entry.rows.size() == floatCount);
            if (isKept) // a disk that is full costs only the time of looking again after a restart
                (void)saveRows(entry.source.rowsFile, entry.key, entry.rows);
        }
        if (m_withRows.size() == kPicturesWithRowsMax) {
            m_entries[m_withRows.front()].rows = {};
            m_withRows.erase(m_withRows.begin());
        }
        m_withRows.push_back(index);
    }
    return std::span<const float>(entry.rows);
}

Result<std::vector<float>> PictureRows::look(const Entry& entry, const CancelFlag& cancel, const Progress& progress)
{
    const std::string& name = entry.source.name;
    WASTE_TRY(const std::string file, readPicture(entry.source));
    if (sha256Text(file) != entry.key.content)
        return Error{ErrorCode::Corrupt, "changed_attachment", "the picture " + name + " changed while it was used"};
    const auto step = [&](const waste::Progress& at) {
        if (!progress)
            return;
        const bool isLooking = at.stage == "vision"; // before that the tower is read from the disk
        progress(name, isLooking ? at.done : 0, isLooking ? at.total : 0);
    };
    const bool isTowerThere = m_engine.isVisionLoaded();
    const auto start = std::chrono::steady_clock::now();
    WASTE_TRY(
        auto rows, m_engine.encodePicture(std::as_bytes(std::span(file)), name, step, &cancel, entry.source.detail));
    if (isTowerThere) {
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        m_pace.noteLooking(entry.picture.multiplyAdds, time.count());
    }
    return rows;
}

} // namespace waste::host
