#include "cli/picture_files.h"

#include "cli/printf_text.h"
#include "cli/value_parsers.h"
#include "host/data_url.h"

#include "waste/files.h"

#include <span>
#include <utility>

namespace waste::cli {

namespace {

std::span<const std::byte> bytesOf(const std::string& text)
{
    return std::as_bytes(std::span(text));
}

// What a reference holds, and how to call it in messages.
Result<std::string> bytesOf(const ImageReference& reference)
{
    using Kind = ImageReference::Kind;
    if (reference.kind == Kind::Data)
        return host::decodeBase64(reference.value);
    if (reference.kind == Kind::Path)
        return readFile(pathOfText(reference.value), host::kPictureBytesMax);
    if (reference.value.starts_with("data:"))
        return host::decodeDataUrl(reference.value);
    return Error{ErrorCode::InvalidArgument, "remote_image_refused",
        "pictures come as data: URLs or as files; nothing is fetched"};
}

} // namespace

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

Status PictureFiles::add(std::string name, std::string bytes)
{
    if (m_entries.size() == kPicturesMax)
        return Error{ErrorCode::InvalidArgument, "", "a prompt holds at most 32 pictures"};
    WASTE_TRY(const Picture picture, Picture::inspect(*m_container, bytesOf(bytes), name, m_detail));
    m_entries.push_back({std::move(name), std::move(bytes), picture});
    return {};
}

Status PictureFiles::addFile(const std::filesystem::path& file)
{
    WASTE_TRY(std::string bytes, readFile(file, host::kPictureBytesMax));
    return add(textOfPath(file), std::move(bytes));
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
        WASTE_TRY_STATUS(add(isFile ? reference.value : reference.place, std::move(*bytes)));
        const Picture& picture = m_entries.back().picture;
        return ImageSize{picture.width, picture.height};
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

Result<std::vector<float>> PictureFiles::encode(Engine& engine, Output& output, const CancelFlag& cancel) const
{
    std::vector<float> rows;
    Picture all; // as if they were one
    for (const Entry& entry : m_entries) {
        all.positionCount += entry.picture.positionCount;
        all.multiplyAdds += entry.picture.multiplyAdds;
    }
    if (!isEmpty())
        output.note("pictures: " + priceText(all, host::ReadingPace(engine)));
    for (const Entry& entry : m_entries) {
        const auto progress = [&](const Progress& step) {
            output.progress(
                "looking at " + entry.name + ": " + std::to_string(step.done) + " of " + std::to_string(step.total));
        };
        WASTE_TRY(
            const auto picture, engine.encodePicture(bytesOf(entry.bytes), entry.name, progress, &cancel, m_detail));
        rows.insert(rows.end(), picture.begin(), picture.end());
        output.plain("[" + entry.name + ": " + std::to_string(entry.picture.positionCount) + " image tokens]\n");
    }
    return rows;
}

} // namespace waste::cli
