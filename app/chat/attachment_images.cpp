#include "chat/attachment_images.h"

#include "host/data_url.h"
#include "waste/files.h"

#include <QRegularExpression>

#include <cstdint>
#include <utility>

namespace waste::app {

namespace {

constexpr int kSideMax = 1024; // of what is drawn

} // namespace

AttachmentImages::AttachmentImages(std::filesystem::path dataFolder, host::PictureViewer& viewer)
    : QQuickImageProvider(QQuickImageProvider::Image, QQuickImageProvider::ForceAsynchronousImageLoading)
    , m_dataFolder(std::move(dataFolder))
    , m_viewer(viewer)
{
}

QImage AttachmentImages::requestImage(const QString& id, QSize* size, const QSize& requestedSize)
{
    static const QRegularExpression pattern("\\A([0-9]{8}T[0-9]{6}Z-[0-9a-f]{6})/([0-9a-f]{64})\\z");
    const auto parts = pattern.match(id);
    if (!parts.hasMatch())
        return {};
    const auto path = m_dataFolder / "conversations" / parts.captured(1).toStdString() / "attachments"
        / parts.captured(2).toStdString();
    const auto file = readFile(path, host::kPictureBytesMax);
    if (!file)
        return {};
    const int wanted = qMax(requestedSize.width(), requestedSize.height());
    const auto sideMax = static_cast<std::uint32_t>(wanted > 0 ? qMin(wanted, kSideMax) : kSideMax);
    const auto drawn = m_viewer.draw(*file, "picture", sideMax);
    if (!drawn)
        return {};
    const QImage image(drawn->rgba.data(), int(drawn->width), int(drawn->height), qsizetype{drawn->width} * 4,
        QImage::Format_RGBA8888);
    if (size != nullptr)
        *size = image.size();
    return image.copy(); // with pixels of its own
}

QString attachmentUrl(const std::string& conversationId, const std::string& sha256)
{
    return QStringLiteral("image://%1/%2/%3")
        .arg(QLatin1StringView(AttachmentImages::kName), QString::fromStdString(conversationId),
            QString::fromStdString(sha256));
}

QString pictureDetails(const host::Block& picture)
{
    const QString size = QStringLiteral("%1 × %2").arg(picture.width).arg(picture.height);
    return picture.positions == 0 ? size : QObject::tr("%1, %2 positions").arg(size).arg(picture.positions);
}

} // namespace waste::app
