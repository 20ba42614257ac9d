#include "cli/picture_files.h"

#include "cli/printf_text.h"
#include "cli/value_parsers.h"
#include "host/data_url.h"
#include "host/rows_file.h"
#include "host/size_text.h"

#include "waste/files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace waste::cli {

namespace {

std::span<const std::byte> bytesOf(const std::string& text)
{
    return std::as_bytes(std::span(text));
}

host::RowsKey keyOf(const Engine& engine, const PictureFiles::Entry& entry)
{
    return {entry.content, entry.detail == PictureDetail::Half, engine.visionFingerprint()};
}

std::size_t floatCount(const Engine& engine, const PictureFiles::Entry& entry)
{
    return std::size_t{entry.picture.positionCount} * engine.container().info().hiddenSize;
}

// What the model saw earlier; empty: it has to look.
std::optional<std::vector<float>> keptRows(
    const Engine& engine, const PictureFiles::Entry& entry, const std::filesystem::path& attachmentsFolder)
{
    const host::RowsKey key = keyOf(engine, entry);
    if (attachmentsFolder.empty() || key.tower.empty())
        return std::nullopt;
    const std::filesystem::path file = host::rowsFileOf(attachmentsFolder, key.content, key.half);
    auto rows = host::loadRows(file, key, floatCount(engine, entry));
    return rows ? std::optional(std::move(*rows)) : std::nullopt;
}

Error invalidImage(std::string message)
{
    return {ErrorCode::Io, "invalid_image", std::move(message)};
}

// A picture of an earlier question, whose name says nothing of where it is kept.
Result<std::string> readKept(const std::string& name, const std::filesystem::path& file)
{
    auto bytes = readFile(file, host::kPictureBytesMax);
    if (bytes)
        return bytes;
    std::string message = name + " was kept with this conversation and cannot be read any more ("
        + bytes.error().message + "); put the file back, or begin another conversation";
    if (bytes.error().code == ErrorCode::NotFound)
        return Error{ErrorCode::NotFound, "not_found", std::move(message)};
    return invalidImage(std::move(message));
}

// What a reference holds.
Result<std::string> bytesOf(const ImageReference& reference)
{
    using Kind = ImageReference::Kind;
    if (reference.kind == Kind::Data)
        return host::decodeBase64(reference.value);
    if (reference.kind == Kind::Path)
        return readPicture(pathOfText(reference.value));
    if (reference.value.starts_with("data:"))
        return host::decodeDataUrl(reference.value);
    return Error{ErrorCode::InvalidArgument, "remote_image_refused",
        "pictures come as data: URLs or as files; nothing is fetched"};
}

} // namespace

Result<std::string> readPicture(const std::filesystem::path& file)
{
    auto bytes = readFile(file, host::kPictureBytesMax);
    if (bytes)
        return bytes;
    const std::string name = textOfPath(file);
    if (bytes.error().code == ErrorCode::NotFound)
        return Error{ErrorCode::NotFound, "not_found", name + ": there is no such file; check its name and folder"};
    if (bytes.error().code == ErrorCode::Corrupt)
        return invalidImage(name + ": the file is larger than " + host::formatSize(host::kPictureBytesMax)
            + "; save the picture smaller, or as JPEG");
    return invalidImage( // readFile() names the file
        bytes.error().message + "; give a PNG, JPEG, GIF, BMP, TGA or PSD file that you may read");
}

void declarePictureFlags(Arguments& arguments, PictureFlags& flags, std::string help)
{
    arguments.value("--image", "FILE", into(flags.files), std::move(help)).repeatable();
    arguments
        .value("--image-detail", "HOW", detailInto(flags.detail),
            "full, or half: half the positions, about half the time to read a picture")
        .byDefault("full");
}

ValueParser detailInto(PictureDetail& detail)
{
    return choiceInto<PictureDetail, PictureDetail>(
        detail, {{"full", PictureDetail::Full}, {"half", PictureDetail::Half}});
}

std::string priceText(const Picture& picture, const host::ReadingPace& pace)
{
    const double seconds = pace.secondsFor(picture);
    std::string positions = std::to_string(picture.positionCount) + " positions";
    if (seconds <= 0)
        return positions;
    const std::string time = seconds < 1 ? "less than 1 s"
        : seconds < 90                   ? printfText("about %.0f s", seconds)
                                         : printfText("about %.0f min", seconds / 60);
    return positions + ", " + time + (pace.isMeasured() ? "" : " (estimate)");
}

PictureFiles::PictureFiles(std::shared_ptr<const Container> container, PictureDetail detail)
    : m_container(std::move(container))
    , m_detail(detail)
{
}

Status PictureFiles::add(
    std::string name, std::filesystem::path file, std::string bytes, PictureDetail detail, bool isKept)
{
    if (m_entries.size() == kPicturesMax)
        return Error{
            ErrorCode::InvalidArgument, "", "a prompt holds at most " + std::to_string(kPicturesMax) + " pictures"};
    WASTE_TRY(const Picture picture, Picture::inspect(*m_container, bytesOf(bytes), name, detail));
    Entry entry{.name = std::move(name),
        .file = std::move(file),
        .bytes = {},
        .byteCount = bytes.size(),
        .content = sha256Text(bytes),
        .picture = picture,
        .detail = detail,
        .isKept = isKept};
    if (entry.file.empty())
        entry.bytes = std::move(bytes);
    m_entries.push_back(std::move(entry));
    return {};
}

Status PictureFiles::addFile(const std::filesystem::path& file)
{
    WASTE_TRY(std::string bytes, readPicture(file));
    return add(textOfPath(file), file, std::move(bytes), m_detail);
}

ImageResolver PictureFiles::resolver()
{
    return [this](const ImageReference& reference) -> Result<ImageSize> {
        auto bytes = bytesOf(reference);
        if (!bytes) {
            bytes.error().message = reference.place + ": " + bytes.error().message;
            return std::move(bytes.error());
        }
        const bool isFile = reference.kind == ImageReference::Kind::Path;
        WASTE_TRY_STATUS(add(isFile ? reference.value : reference.place,
            isFile ? pathOfText(reference.value) : std::filesystem::path(), std::move(*bytes), m_detail));
        const Picture& picture = m_entries.back().picture;
        return ImageSize{picture.width, picture.height};
    };
}

ImageResolver PictureFiles::resolver(std::vector<host::AttachedPicture> attached)
{
    return [this, attached = std::move(attached)](const ImageReference& reference) -> Result<ImageSize> {
        std::size_t place = 0;
        const char* const end = reference.value.data() + reference.value.size();
        const auto read = std::from_chars(reference.value.data(), end, place);
        const bool isPlace = read.ec == std::errc() && read.ptr == end && place < attached.size();
        if (reference.kind != ImageReference::Kind::Path || !isPlace)
            return Error{ErrorCode::InvalidArgument, "", reference.place + " is no picture of this conversation"};
        const host::AttachedPicture& picture = attached[place];
        const bool isKept = !picture.rowsFile.empty(); // those of this question have no place for what the model saw
        WASTE_TRY(std::string bytes, isKept ? readKept(picture.name, picture.file) : readPicture(picture.file));
        WASTE_TRY_STATUS(add(picture.name, picture.file, std::move(bytes), picture.detail, isKept));
        return ImageSize{m_entries.back().picture.width, m_entries.back().picture.height};
    };
}

std::vector<std::uint32_t> PictureFiles::positionCounts() const
{
    std::vector<std::uint32_t> counts;
    counts.reserve(m_entries.size());
    for (const Entry& entry : m_entries)
        counts.push_back(entry.picture.positionCount);
    return counts;
}

Result<std::string> PictureFiles::read(const Entry& entry)
{
    if (entry.file.empty())
        return entry.bytes;
    WASTE_TRY(std::string bytes, entry.isKept ? readKept(entry.name, entry.file) : readPicture(entry.file));
    if (sha256Text(bytes) != entry.content)
        return invalidImage(entry.name + " was changed after it was read first; give it again");
    return bytes;
}

std::uint64_t PictureFiles::memoryBytes() const
{
    std::uint64_t held = 0;
    std::uint64_t largest = 0;
    for (const Entry& entry : m_entries) {
        held += entry.bytes.size();
        largest = std::max(largest, entry.byteCount);
    }
    return held + largest;
}

Result<std::vector<float>> PictureFiles::encode(
    Engine& engine, Output& output, const CancelFlag& cancel, const std::filesystem::path& attachmentsFolder) const
{
    std::vector<std::optional<std::vector<float>>> kept;
    Picture all; // as if they were one
    for (const Entry& entry : m_entries) {
        kept.push_back(keptRows(engine, entry, attachmentsFolder));
        all.positionCount += entry.picture.positionCount;
        all.multiplyAdds += kept.back() ? 0 : entry.picture.multiplyAdds;
    }
    if (!isEmpty())
        output.note("pictures: " + priceText(all, host::ReadingPace(engine)));
    std::vector<float> rows;
    std::vector<std::size_t> begins; // of each picture's rows
    for (const Entry& entry : m_entries) {
        const auto progress = [&](const Progress& step) {
            output.progress(
                "looking at " + entry.name + ": " + std::to_string(step.done) + " of " + std::to_string(step.total));
        };
        const auto same = [&](const Entry& other) {
            return other.detail == entry.detail && other.content == entry.content;
        };
        const auto first = static_cast<std::size_t>(
            std::find_if(m_entries.begin(), m_entries.end(), same) - m_entries.begin()); // itself, or an earlier one
        begins.push_back(rows.size());
        if (first + 1 < begins.size()) {
            const std::vector<float> seen(rows.begin() + static_cast<std::ptrdiff_t>(begins[first]),
                rows.begin() + static_cast<std::ptrdiff_t>(begins[first + 1]));
            rows.insert(rows.end(), seen.begin(), seen.end());
        } else if (const auto& before = kept[first]) {
            rows.insert(rows.end(), before->begin(), before->end());
        } else {
            WASTE_TRY(const std::string bytes, read(entry));
            WASTE_TRY(
                const auto seen, engine.encodePicture(bytesOf(bytes), entry.name, progress, &cancel, entry.detail));
            rows.insert(rows.end(), seen.begin(), seen.end());
        }
        output.plain("[" + entry.name + ": " + std::to_string(entry.picture.positionCount) + " image tokens]\n");
    }
    return rows;
}

void PictureFiles::keepRows(
    const Engine& engine, std::span<const float> rows, const std::filesystem::path& attachmentsFolder) const
{
    for (const Entry& entry : m_entries) {
        const std::span<const float> own = rows.first(floatCount(engine, entry));
        rows = rows.subspan(own.size());
        const host::RowsKey key = keyOf(engine, entry);
        if (!key.tower.empty() && !keptRows(engine, entry, attachmentsFolder))
            (void)host::saveRows(host::rowsFileOf(attachmentsFolder, key.content, key.half), key, own);
    }
}

Status planPictures(const Container& container, const PictureFiles& pictures, EngineFlags& flags)
{
    if (pictures.isEmpty())
        return {};
    flags.options.vision = VisionUse::FromTheStart;
    WASTE_TRY(const MemoryPlan plan, memoryPlan(container, flags));
    flags.options.programBytes = plan.programBytes + pictures.memoryBytes();
    return {};
}

} // namespace waste::cli
