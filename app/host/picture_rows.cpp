#include "host/picture_rows.h"

#include "host/data_url.h"
#include "waste/files.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste::host {

namespace {

constexpr std::size_t kPicturesWithRowsMax = 32; // as many as the memory plan counts
constexpr TokenId kFirstNumber = -2; // −1 means "no token" elsewhere

std::size_t indexOf(TokenId number)
{
    return static_cast<std::size_t>(kFirstNumber - number);
}

} // namespace

PictureRows::PictureRows(Engine& engine)
    : m_engine(engine)
{
}

Result<PictureRows::Shown> PictureRows::show(const AttachedPicture& picture)
{
    auto file = readFile(picture.file, kPictureBytesMax);
    if (!file && file.error().code == ErrorCode::NotFound) {
        return Error{ErrorCode::NotFound, "missing_attachment",
            "the picture " + picture.name + " is no longer among the attachments of this conversation"};
    }
    if (!file)
        return std::move(file.error());
    Shown shown;
    WASTE_TRY(shown.picture,
        Picture::inspect(m_engine.container(), std::as_bytes(std::span(*file)), picture.name, picture.detail));
    auto known = std::find_if(m_entries.begin(), m_entries.end(), [&](const Entry& entry) {
        return entry.picture.file == picture.file && entry.picture.detail == picture.detail;
    });
    if (known == m_entries.end())
        known = m_entries.insert(known, Entry{picture, shown.picture.positionCount, {}});
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
        WASTE_TRY(const std::string file, readFile(entry.picture.file, kPictureBytesMax));
        const std::string& name = entry.picture.name;
        const auto step = [&](const waste::Progress& at) {
            if (!progress)
                return;
            const bool isLooking = at.stage == "vision"; // before that the tower is read from the disk
            progress(name, isLooking ? at.done : 0, isLooking ? at.total : 0);
        };
        WASTE_TRY(entry.rows,
            m_engine.encodePicture(std::as_bytes(std::span(file)), name, step, &cancel, entry.picture.detail));
        if (entry.rows.size() != std::size_t{entry.positionCount} * m_engine.container().info().hiddenSize) {
            entry.rows = {};
            return Error{
                ErrorCode::Corrupt, "changed_attachment", "the picture " + name + " changed while it was used"};
        }
        if (m_withRows.size() == kPicturesWithRowsMax) {
            m_entries[m_withRows.front()].rows = {};
            m_withRows.erase(m_withRows.begin());
        }
        m_withRows.push_back(index);
    }
    return std::span<const float>(entry.rows);
}

} // namespace waste::host
