#pragma once

#include <QColor>
#include <QObject>
#include <QPointer>
#include <QQuickTextDocument>
#include <QString>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// Colours the code in a TextEdit. It sees what is on screen and never changes it: what is copied is exact.
// GUI thread only.
class CodeHighlighter : public QObject {
    Q_OBJECT
    QML_ELEMENT
    Q_PROPERTY(QQuickTextDocument* document READ document WRITE setDocument NOTIFY documentChanged FINAL)
    Q_PROPERTY(QString language MEMBER m_language WRITE setLanguage NOTIFY languageChanged FINAL)
    Q_PROPERTY(QColor keyword MEMBER m_keyword NOTIFY coloursChanged FINAL)
    Q_PROPERTY(QColor string MEMBER m_string NOTIFY coloursChanged FINAL)
    Q_PROPERTY(QColor number MEMBER m_number NOTIFY coloursChanged FINAL)
    Q_PROPERTY(QColor comment MEMBER m_comment NOTIFY coloursChanged FINAL)
    Q_PROPERTY(QColor call MEMBER m_call NOTIFY coloursChanged FINAL)

public:
    explicit CodeHighlighter(QObject* parent = nullptr);
    ~CodeHighlighter() override;

    [[nodiscard]] QQuickTextDocument* document() const { return m_document; }
    void setDocument(QQuickTextDocument* document);
    void setLanguage(const QString& language);

Q_SIGNALS:
    void documentChanged();
    void languageChanged();
    void coloursChanged();

private:
    class Painter;

    QPointer<QQuickTextDocument> m_document;
    QString m_language;
    QColor m_keyword;
    QColor m_string;
    QColor m_number;
    QColor m_comment;
    QColor m_call;
    QPointer<Painter> m_painter; // belongs to the text document
};

} // namespace waste::app
