#include "chat/draft_pictures.h"

#include "chat/attachment_images.h"
#include "chat/gui_callback.h"
#include "chat/message_text.h"
#include "host/chat_request.h"
#include "host/data_url.h"
#include "waste/files.h"
#include "waste/picture.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QIODevice>
#include <QImage>
#include <QMimeData>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace waste::app {

namespace {

constexpr qsizetype kPicturesMax = 32; // in one prompt (spec: cli A.2)

QString aboutSeconds(double seconds)
{
    if (seconds < 1)
        return DraftPictures::tr("adds less than 1 s");
    if (seconds < 90)
        return DraftPictures::tr("adds about %1 s").arg(std::lround(seconds));
    return DraftPictures::tr("adds about %1 min").arg(std::lround(seconds / 60));
}

// Refuses what is more than a picture's file may have: the memory plan counts no larger one.
class PictureBytes final : public QIODevice {
public:
    PictureBytes()
    {
        m_bytes.reserve(host::kPictureBytesMax); // growing would copy
        open(WriteOnly);
    }
    std::string take() { return std::move(m_bytes); }

protected:
    qint64 readData(char*, qint64) override { return -1; }
    qint64 writeData(const char* data, qint64 size) override
    {
        if (static_cast<std::size_t>(size) > host::kPictureBytesMax - m_bytes.size())
            return -1;
        m_bytes.append(data, static_cast<std::size_t>(size));
        return size;
    }

private:
    std::string m_bytes;
};

Result<std::string> pngOf(const QImage& image)
{
    PictureBytes png;
    if (!image.save(&png, "PNG"))
        return Error{ErrorCode::InvalidArgument, "",
            DraftPictures::tr("The pasted picture is too large: %1 × %2 pixels; scale it down first")
                .arg(image.width())
                .arg(image.height())
                .toStdString()};
    return png.take();
}

} // namespace

std::vector<host::Block> picturesOf(const host::Message& message)
{
    std::vector<host::Block> pictures;
    std::copy_if(message.blocks.begin(), message.blocks.end(), std::back_inserter(pictures),
        [](const host::Block& block) { return block.type == host::Block::Type::Image; });
    return pictures;
}

DraftPictures::DraftPictures(
    host::ConversationKeeper& keeper, host::EngineHost& engine, host::PictureViewer& viewer, QObject* parent)
    : QAbstractListModel(parent)
    , m_keeper(keeper)
    , m_engine(engine)
    , m_viewer(viewer)
{
}

int DraftPictures::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : count();
}

QVariant DraftPictures::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Added& picture = m_pictures.at(index.row());
    switch (role) {
    case NameRole:
        return QString::fromStdString(picture.block.name);
    case SourceRole:
        return attachmentUrl(m_conversationId, picture.block.sha256);
    case DetailsRole:
        return pictureDetails(picture.block);
    case PriceRole:
        return priceOf(picture);
    case HalfRole:
        return picture.block.half;
    default:
        return {};
    }
}

QHash<int, QByteArray> DraftPictures::roleNames() const
{
    return {
        {NameRole, "name"}, {SourceRole, "source"}, {DetailsRole, "details"}, {PriceRole, "price"}, {HalfRole, "half"}};
}

const Picture& DraftPictures::seenOf(const Added& picture)
{
    return picture.block.half ? picture.seen.half : picture.seen.full;
}

QString DraftPictures::priceOf(const Added& picture) const
{
    const double seconds = m_pace.secondsFor(seenOf(picture));
    if (seenOf(picture).positionCount == 0 || seconds <= 0)
        return {};
    return m_pace.isMeasured() ? aboutSeconds(seconds) : tr("%1 (estimate)").arg(aboutSeconds(seconds));
}

void DraftPictures::addFiles(const QList<QUrl>& files)
{
    setError({});
    for (const QUrl& file : files) {
        if (!file.isLocalFile()) {
            setError(tr("Pictures come from files on this computer; nothing is fetched from %1").arg(file.host()));
            continue;
        }
        const auto path = pathOfText(file.toLocalFile().toStdString());
        add(file.fileName(), [path] { return readFile(path, host::kPictureBytesMax); });
    }
}

bool DraftPictures::addFromClipboard()
{
    const QMimeData* content = QGuiApplication::clipboard()->mimeData();
    if (content == nullptr)
        return false;
    if (content->hasImage()) {
        const auto image = qvariant_cast<QImage>(content->imageData());
        if (!image.isNull())
            add(tr("Pasted picture.png"), [image] { return pngOf(image); });
        return !image.isNull();
    }
    const QList<QUrl> files = content->urls();
    if (std::none_of(files.begin(), files.end(), [](const QUrl& file) { return file.isLocalFile(); }))
        return false;
    addFiles(files);
    return true;
}

void DraftPictures::add(const QString& name, std::function<Result<std::string>()> read)
{
    if (count() + m_coming >= kPicturesMax)
        return setError(tr("A message holds at most %1 pictures").arg(kPicturesMax));
    ++m_coming;
    const auto added = [this, id = m_conversationId](Result<Added> picture) {
        --m_coming;
        if (!picture)
            return setError(QString::fromStdString(picture.error().message));
        if (id != m_conversationId)
            return; // another conversation came on screen meanwhile
        beginInsertRows({}, count(), count());
        m_pictures << *picture;
        endInsertRows();
        Q_EMIT changed();
    };
    const auto done = onGuiThread<Added>(this, added);
    m_keeper.post([this, id = m_conversationId, name = name.toStdString(), read = std::move(read), done] {
        auto bytes = read();
        if (!bytes)
            return done(std::move(bytes.error()));
        done(keep(id, name, *bytes));
    });
}

// On the keeper's thread. What the model cannot see is not kept either.
Result<DraftPictures::Added> DraftPictures::keep(
    const std::string& conversationId, const std::string& name, const std::string& bytes) const
{
    Added added;
    WASTE_TRY(added.seen, inspect(name, bytes));
    added.block.type = host::Block::Type::Image;
    added.block.name = name;
    added.block.bytes = bytes.size();
    added.block.width = added.seen.full.width;
    added.block.height = added.seen.full.height;
    added.block.positions = added.seen.full.positionCount;
    WASTE_TRY(added.block.sha256, m_keeper.attachNow(conversationId, bytes));
    return added;
}

Result<DraftPictures::Seen> DraftPictures::inspect(const std::string& name, const std::string& bytes) const
{
    const auto container = m_engine.container();
    if (container == nullptr)
        return Error{ErrorCode::NotFound, "no_model", "a model must be open before it can be shown a picture"};
    const auto file = std::as_bytes(std::span(bytes));
    Seen seen;
    WASTE_TRY(seen.full, m_viewer.check(*container, bytes, name));
    WASTE_TRY(seen.half, Picture::inspect(*container, file, name, PictureDetail::Half));
    return seen;
}

// A picture of an earlier day. What is wrong with it is told when it is sent.
void DraftPictures::inspectLater(const Added& picture)
{
    if (!host::isAttachmentName(picture.block.sha256))
        return;
    const auto inspected = [this, id = m_conversationId, sha256 = picture.block.sha256](const Result<Seen>& seen) {
        if (!seen || id != m_conversationId)
            return;
        for (int row = 0; row < count(); ++row) {
            if (m_pictures.at(row).block.sha256 != sha256)
                continue;
            m_pictures[row].seen = *seen;
            m_pictures[row].block.positions = seenOf(m_pictures.at(row)).positionCount;
            Q_EMIT dataChanged(index(row), index(row), {DetailsRole, PriceRole});
        }
    };
    const auto file = m_keeper.attachmentsFolder(m_conversationId) / picture.block.sha256;
    m_keeper.post([this, file, name = picture.block.name, done = onGuiThread<Seen>(this, inspected)] {
        const auto bytes = readFile(file, host::kPictureBytesMax);
        done(bytes ? inspect(name, *bytes) : Result<Seen>(bytes.error()));
    });
}

void DraftPictures::inspectAgain()
{
    for (const Added& picture : std::as_const(m_pictures))
        inspectLater(picture);
}

void DraftPictures::remove(int row)
{
    if (row < 0 || row >= count())
        return;
    beginRemoveRows({}, row, row);
    m_pictures.removeAt(row);
    endRemoveRows();
    Q_EMIT changed();
}

void DraftPictures::setHalf(int row, bool half)
{
    if (row < 0 || row >= count() || std::exchange(m_pictures[row].block.half, half) == half)
        return;
    m_pictures[row].block.positions = seenOf(m_pictures.at(row)).positionCount;
    Q_EMIT dataChanged(index(row), index(row), {HalfRole, DetailsRole, PriceRole});
    Q_EMIT changed();
}

void DraftPictures::show(const std::string& conversationId, const std::vector<host::Block>& pictures)
{
    beginResetModel();
    m_conversationId = conversationId;
    m_pictures.clear();
    for (const host::Block& block : pictures)
        m_pictures << Added{block, {}};
    endResetModel();
    inspectAgain();
    setError({});
    Q_EMIT changed();
}

std::vector<host::Block> DraftPictures::blocks() const
{
    std::vector<host::Block> blocks;
    for (const Added& picture : m_pictures)
        blocks.push_back(picture.block);
    return blocks;
}

std::vector<host::Block> DraftPictures::take()
{
    std::vector<host::Block> blocks = this->blocks();
    show(m_conversationId, {});
    return blocks;
}

void DraftPictures::setPace(const host::ReadingPace& pace)
{
    if (!(std::exchange(m_pace, pace) == pace) && !m_pictures.isEmpty())
        Q_EMIT dataChanged(index(0), index(count() - 1), {PriceRole});
}

void DraftPictures::setError(const QString& error)
{
    if (std::exchange(m_error, error) != error)
        Q_EMIT errorChanged();
}

} // namespace waste::app
