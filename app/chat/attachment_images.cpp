#include "chat/attachment_images.h"

#include "host/data_url.h"
#include "waste/files.h"
#include "waste/picture.h"

#include <QFile>
#include <QImageReader>
#include <QList>
#include <QRegularExpression>

#include <span>
#include <utility>

namespace waste::app {

namespace {

constexpr qint64 kPixelsMax = qint64{64} << 20; // as the model's own reader (spec: vision 2.1)
constexpr int kSideMax = 1024; // of what is drawn

// What Qt cannot read and the model can: TGA and PSD.
QImage drawnByTheEngine(QFile& file, QSize* size)
{
    if (!file.seek(0) || file.size() > qint64{host::kPictureBytesMax})
        return {};
    const QByteArray bytes = file.readAll();
    const auto drawn =
        drawPicture(std::as_bytes(std::span(bytes.data(), std::size_t(bytes.size()))), "picture", kSideMax);
    if (!drawn)
        return {};
    const QImage image(drawn->rgba.data(), int(drawn->width), int(drawn->height), qsizetype{drawn->width} * 4,
        QImage::Format_RGBA8888);
    if (size != nullptr)
        *size = image.size();
    return image.copy();
}

} // namespace

AttachmentImages::AttachmentImages(std::filesystem::path dataFolder)
    : QQuickImageProvider(QQuickImageProvider::Image, QQuickImageProvider::ForceAsynchronousImageLoading)
    , m_dataFolder(std::move(dataFolder))
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
    QFile file(QString::fromStdString(textOfPath(path)));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    // By content and from this list: whatever else Qt's plugins could read, SVG with its links above all, is
    // no business of a picture that somebody sent.
    static const QList<QByteArray> formats{"png", "jpeg", "gif", "bmp"};
    const QByteArray format = QImageReader::imageFormat(&file);
    if (!formats.contains(format))
        return drawnByTheEngine(file, size);
    QImageReader reader(&file, format);
    reader.setAutoTransform(true);
    const QSize whole = reader.size();
    if (!whole.isValid() || qint64{whole.width()} * whole.height() > kPixelsMax)
        return {};
    QSize wanted(kSideMax, kSideMax);
    if (requestedSize.width() > 0 && requestedSize.height() > 0)
        wanted = wanted.boundedTo(requestedSize);
    if (whole.width() > wanted.width() || whole.height() > wanted.height())
        reader.setScaledSize(whole.scaled(wanted, Qt::KeepAspectRatio).expandedTo({1, 1}));
    QImage image = reader.read();
    if (size != nullptr)
        *size = image.size();
    return image;
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
